import type { JSX } from 'preact'
import type { Answer } from '../../answers.ts'
import { change } from '../api.ts'
import { confirm } from '../dialog.tsx'
import { cronWords } from '../cron-words.ts'
import { useLive } from '../live.ts'
import { Chip, Empty, Head, Shown, Table, When } from '../parts.tsx'
import { base } from '../router.ts'
import { may, useSession } from '../session.ts'
import { capital, clock, clockIn } from '../words.ts'

type Schedule = Answer<'schedules'>['schedules'][number]
type Tick = Schedule['ticks'][number]

export function SchedulesPage(): JSX.Element {
  const live = useLive<Answer<'schedules'>>('/schedules')
  return (
    <>
      <Head title="Schedules" sentence="What the clock starts." />
      <Shown live={live}>
        {({ schedules }) =>
          schedules.length === 0 ? (
            <Empty title="No schedule yet.">
              <p>
                Define one with <code>defineSchedule</code> and list it in <code>sluice.config.ts</code>.
              </p>
            </Empty>
          ) : (
            <Table
              label="Schedules"
              heads={[
                { title: 'Schedule', class: 'name' },
                { title: 'Rule', class: 'wide' },
                'State',
                'Next three runs',
                'Last runs',
                { title: '', class: 'verbs' },
              ]}
            >
              {schedules.map((schedule) => (
                <Row key={schedule.name} schedule={schedule} />
              ))}
            </Table>
          )
        }
      </Shown>
    </>
  )
}

function Row({ schedule }: { schedule: Schedule }): JSX.Element {
  const { name, rule, zone, target, enabled, parked, nextAt, nextRuns, ticks, disabledBy, reason, window } = schedule
  const session = useSession()
  const told = cronWords(rule)
  return (
    <tr>
      <td class="name">
        <span class="strong">{name}</span>
        <div class="under">
          {target.kind} {target.name}
        </div>
      </td>
      <td class="wide">
        {told === undefined ? <code class="nowrap">{rule}</code> : capital(told)}
        <div class="under">
          {told !== undefined && <code class="nowrap">{rule}</code>} {zone}
        </div>
        {window !== null && <div class="under">only {window.replace(` ${zone}`, '')}</div>}
        {schedule.missed !== 'one' && <div class="under">missed runs: {schedule.missed}</div>}
      </td>
      <td>
        <Chip state={!enabled ? 'disabled' : parked ? 'parked' : 'enabled'} />
        {disabledBy !== null && <div class="under">by {disabledBy}</div>}
        {reason !== null && <div class="under">{reason}</div>}
      </td>
      <td>
        {nextAt === null && enabled && !parked ? <span class="warn-text">never</span> : <When at={nextAt} />}
        {nextRuns.length > 0 && (
          <ol class="runs" aria-label={`Next runs of ${name}, ${zone}`}>
            {nextRuns.map((at) => (
              <li key={at}>{clockIn(at, zone)}</li>
            ))}
          </ol>
        )}
      </td>
      <td>{ticks.length === 0 ? <span class="muted">none yet</span> : <Ticks ticks={ticks} />}</td>
      <td class="verbs">{may(session, 'operator') && <Verbs schedule={schedule} />}</td>
    </tr>
  )
}

const toldOf = ({ tick, outcome, reason, missed }: Tick): string =>
  `${clock(tick)}: ${outcome}${reason === null ? '' : `, ${reason}`}${missed > 0 ? `, ${missed} missed before` : ''}`

/** Oldest first, as time goes; and the way to the latest run. */
function Ticks({ ticks }: { ticks: readonly Tick[] }): JSX.Element {
  const latest = ticks.find(({ jobId, operationId }) => (jobId ?? operationId) !== null)
  return (
    <>
      <ol class="ticks">
        {ticks.toReversed().map((tick) => (
          <li key={tick.tick + tick.settledAt} class={tick.outcome} title={toldOf(tick)}>
            <span class="visually-hidden">{toldOf(tick)}</span>
          </li>
        ))}
      </ol>
      {latest !== undefined && (
        <a href={base + (latest.jobId === null ? `/operations/${latest.operationId}` : `/jobs/${latest.jobId}`)}>
          latest: <When at={latest.settledAt} />
        </a>
      )}
    </>
  )
}

const why = (reason: string | undefined): { reason?: string } => (reason === undefined ? {} : { reason })

function Verbs({ schedule: { name, enabled, target } }: { schedule: Schedule }): JSX.Element {
  const runs = may(useSession(), target.kind === 'operation' ? 'admin' : 'operator')
  const verb = enabled ? 'disable' : 'enable'
  const at = `/schedules/${encodeURIComponent(name)}`
  return (
    <>
      {runs && (
        <button
          type="button"
          onClick={() =>
            confirm({
              title: `Run ${name} now?`,
              text: `The ${target.kind} ${target.name} is started once, beside the clock.`,
              verb: 'Run now',
              done: `${name} was started`,
              run: (reason) => change(`${at}/run`, why(reason)),
            })
          }
        >
          Run now<span class="visually-hidden"> {name}</span>
        </button>
      )}
      <button
        type="button"
        onClick={() =>
          confirm({
            title: `${capital(verb)} ${name}?`,
            text: enabled
              ? 'The clock starts nothing of it until you enable it again. What runs goes on.'
              : 'It goes on with its next tick; what it missed is not made up for.',
            verb: capital(verb),
            reason: true,
            done: `${name} is ${verb}d`,
            run: (reason) =>
              change(`${at}/${verb}`, { expectedState: enabled ? 'enabled' : 'disabled', ...why(reason) }),
          })
        }
      >
        {capital(verb)}
        <span class="visually-hidden"> {name}</span>
      </button>
    </>
  )
}
