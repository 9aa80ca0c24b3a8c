import type { JSX } from 'preact'
import type { Answer } from '../../answers.ts'
import { change } from '../api.ts'
import { confirm } from '../dialog.tsx'
import { useLive } from '../live.ts'
import { Chip, Empty, Head, Shown, Table, When } from '../parts.tsx'
import { base } from '../router.ts'
import { may, useSession } from '../session.ts'
import { capital, clock, clockIn } from '../words.ts'

type Schedule = Answer<'schedules'>['schedules'][number]

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
                'Schedule',
                'Rule',
                'Starts',
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
  return (
    <tr>
      <td class="strong">{name}</td>
      <td>
        <code>{rule}</code>
        <div class="under">
          {zone}
          {window !== null && ` · ${window}`}
        </div>
      </td>
      <td>
        {target.name}
        <div class="under">{target.kind}</div>
      </td>
      <td>
        <Chip state={!enabled ? 'disabled' : parked ? 'parked' : 'enabled'} />
        {disabledBy !== null && (
          <div class="under">
            by {disabledBy}
            {reason !== null && `: ${reason}`}
          </div>
        )}
      </td>
      <td>
        <When at={nextAt} />
        {nextRuns.length > 0 && (
          <>
            <ol class="runs" aria-label={`Next runs of ${name}, ${zone}`}>
              {nextRuns.map((at) => (
                <li key={at}>{clockIn(at, zone)}</li>
              ))}
            </ol>
            <div class="under">{zone}</div>
          </>
        )}
      </td>
      <td>{ticks.length === 0 ? <span class="muted">none yet</span> : <Ticks ticks={ticks} />}</td>
      <td class="verbs">{may(session, 'operator') && <Verbs schedule={schedule} />}</td>
    </tr>
  )
}

/** Oldest first, as time goes. */
function Ticks({ ticks }: { ticks: Schedule['ticks'] }): JSX.Element {
  return (
    <ol class="ticks">
      {ticks.toReversed().map((tick) => {
        const told = `${clock(tick.tick)}: ${tick.outcome}${tick.reason === null ? '' : `, ${tick.reason}`}${tick.missed > 0 ? `, ${tick.missed} missed before` : ''}`
        const to =
          tick.jobId === null
            ? tick.operationId === null
              ? undefined
              : `/operations/${tick.operationId}`
            : `/jobs/${tick.jobId}`
        return (
          <li key={tick.tick + tick.settledAt} class={tick.outcome}>
            {to === undefined ? (
              <span title={told}>
                <span class="visually-hidden">{told}</span>
              </span>
            ) : (
              <a href={base + to} title={told}>
                <span class="visually-hidden">{told}</span>
              </a>
            )}
          </li>
        )
      })}
    </ol>
  )
}

const why = (reason: string | undefined): { reason?: string } => (reason === undefined ? {} : { reason })

function Verbs({ schedule: { name, enabled, target } }: { schedule: Schedule }): JSX.Element {
  const verb = enabled ? 'disable' : 'enable'
  const at = `/schedules/${encodeURIComponent(name)}`
  return (
    <>
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
