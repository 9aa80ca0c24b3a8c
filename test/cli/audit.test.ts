import { expect, test } from 'vitest'
import { definitions, place } from './job-place.ts'

test('what is done on the command line is listed and exported, with who did it', async () => {
  await using at = await place()
  await at.api.jobs.enqueue(definitions.plain)
  await at.run('queues', 'pause', 'default', '--actor', 'ada', '--reason', '=the bank, is "down"')
  await at.run('queues', 'resume', 'default', '--actor', 'bob')
  const { stdout } = await at.run('audit', 'list')
  const [head, second, first] = stdout.split('\n')
  expect(head).toMatch(/^id +when +who +from +action +what +change +reason$/)
  expect(second).toMatch(/bob +cli +queue\.resume +default +paused true → paused false/)
  expect(first).toMatch(/ada +cli +queue\.pause +default +paused false → paused true +=the bank, is "down"$/)
  expect(await at.json('audit', 'list', '--actor', 'ada', '--limit', '1')).toMatchObject({
    version: 1,
    acts: [{ actor: 'ada', source: 'cli', action: 'queue.pause', target: 'default', after: { paused: true } }],
    next: null,
  })
  const csv = (await at.run('audit', 'export', '--action', 'queue.pause')).stdout.trim().split('\n')
  expect(csv[0]).toBe('id,at,actor,source,action,target,before,after,reason')
  expect(csv[1]).toContain(`"ada","cli","queue.pause","default"`)
  expect(csv[1]).toContain(`"'=the bank, is ""down"""`)
  expect((await at.run('audit', 'list', '--actor', 'nobody')).stderr).toContain('Nothing was changed')
  const page = await at.run('audit', 'list', '--limit', '1')
  expect(page.stderr).toMatch(/There are more: add --before \d+ for the next page/)
})

test('doctor --alerts ends with 4 while one fires', async () => {
  await using at = await place()
  await at.api.jobs.enqueue(definitions.plain)
  expect(await at.run('doctor', '--alerts')).toMatchObject({
    exitCode: 0,
    stderr: expect.stringContaining('No alert fires.'),
  })
  await at.db.query(`update sluice.job set run_at = now() - interval '1 hour'`)
  await at.db.query(`delete from sluice.queue_sample_10s`)
  await at.db.query(`update sluice.sample_clock set taken_to = now() - interval '1 minute'`)
  for (let look = 0; look < 2; look++) await at.run('doctor', '--alerts')
  const { exitCode, stdout } = await at.run('doctor', '--alerts')
  expect(exitCode).toBe(4)
  expect(stdout).toContain('✗ jobs of queue default wait 1 h')
  expect(await at.json('doctor', '--alerts')).toMatchObject({ alerts: [{ rule: 'queue-wait', subject: 'default' }] })
})
