import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { sluiceHere as run, temporaryFolder } from './run-cli.ts'

test('a case is drawn, with what limited it', async () => {
  const { exitCode, stdout, stderr } = await run(['simulate', 'outlier'])
  expect(exitCode).toBe(0)
  expect(stderr).toContain('one odd reading of the load at second 10')
  expect(stdout).toMatch(/^replicaLag +█/m)
  expect(stdout).toMatch(/^held +\.{20}HHH\.{17}$/m)
  expect(stdout).toMatch(/^seconds 20 to 2\d: held for 3 s: replica lag is /m)
  expect(stdout).toMatch(/rows in 40 s, of 400,000 at full pace$/m)
})

test('recorded signals are judged by other limits, and told as data', async () => {
  await using folder = await temporaryFolder()
  await writeFile(join(folder.path, 'incident.csv'), 'second,replicaLag\n0,0\n5,3000\n10,0\n29,0\n')
  const usual = await run(['simulate', 'incident.csv', '--json', '--speed', '100'], { folder: folder.path })
  expect(JSON.parse(usual.stdout)).toMatchObject({ signals: 'incident.csv', limited: [{ from: 5, held: 0 }] })
  const strict = ['--limit', 'replicaLag=1s:2s', '--limit', 'activeSessions=1:2']
  const { stdout } = await run(['simulate', 'incident.csv', '--json', ...strict], { folder: folder.path })
  const { limited, trace } = JSON.parse(stdout)
  expect(limited).toMatchObject([{ from: 5, share: 0 }])
  expect(trace).toHaveLength(30)
})

test('what cannot be simulated is refused, and says what is wrong', async () => {
  await using folder = await temporaryFolder()
  await writeFile(join(folder.path, 'bad.csv'), 'second,replicaLga\n0,0\n')
  const refusal = async (...args: string[]): Promise<string> => {
    const { exitCode, stdout, stderr } = await run(['simulate', ...args], { folder: folder.path })
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
    return stderr
  }
  expect(await refusal('outlyer')).toMatch(/no such file.*Did you mean "outlier"\?.*Cases: step-load/s)
  expect(await refusal('.')).toContain('cannot be read as a file')
  expect(await refusal('bad.csv')).toContain('line 2 has "replicaLga", which is no signal. Did you mean "replicaLag"?')
  expect(await refusal('outlier', '--limit', 'replicaLag')).toContain('It must look like replicaLag=1s:5s')
  expect(await refusal('outlier', '--limit', 'replicaLga=1s:5s')).toContain('Did you mean "replicaLag"?')
  expect(await refusal('outlier', '--limit', 'replicaLag=a:b')).toContain('must be a time such as')
  expect(await refusal('outlier', '--speed', '0')).toContain('--speed')
})
