import type { JSX } from 'preact'
import type { Answer } from '../../answers.ts'
import { useLive } from '../live.ts'
import { Facts, Head, Shown } from '../parts.tsx'
import { base } from '../router.ts'
import { useSession } from '../session.ts'

const keys = [
  ['g then o, j, q, f', 'Operations, jobs, queues, failed'],
  ['g then s, m, b, w', 'Schedules, machines, batches, workers'],
  ['g then h, a', 'Health, audit'],
  ['/', 'Search'],
  ['p', 'Stop and start live updates'],
  ['?', 'This page'],
] as const

export function AboutPage(): JSX.Element {
  const live = useLive<Answer<'about'>>('/about')
  const session = useSession()
  return (
    <>
      <Head title="About" sentence="Sluice changes millions of rows while production keeps breathing." />
      <Shown live={live}>
        {({ version, node, database, schema, pendingMigrations, environment }) => (
          <Facts
            of={[
              ['Version', version],
              ['Node.js', node],
              ['Database', database],
              ['Schema', schema],
              [
                'Migrations',
                pendingMigrations.length === 0 ? 'up to date' : `pending: ${pendingMigrations.join(', ')}`,
              ],
              ['Environment', environment],
              ['You', `${session.user}, ${session.role}`],
              [
                'API',
                <a key="api" href={`${base}/api/openapi.json`} target="_blank" rel="noreferrer">
                  OpenAPI document
                </a>,
              ],
            ]}
          />
        )}
      </Shown>
      <section aria-labelledby="keys">
        <h2 id="keys">Keys</h2>
        <dl class="keys">
          {keys.map(([key, does]) => (
            <div key={key}>
              <dt>
                <kbd>{key}</kbd>
              </dt>
              <dd>{does}</dd>
            </div>
          ))}
        </dl>
      </section>
    </>
  )
}
