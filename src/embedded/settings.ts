import { SluiceError } from '../errors.ts'
import { host } from './port.ts'

/** Who can reach the server, and where its files are, is decided by this room alone. */
const reserved = new Set([
  'config_file',
  'data_directory',
  'hba_file',
  'ident_file',
  'listen_addresses',
  'port',
  'unix_socket_directories',
])

/** The command line of the server. What is given there wins over its configuration files and `alter system`. */
export function serverArguments(data: string, port: number, settings: Readonly<Record<string, string>>): string[] {
  const own = {
    listen_addresses: host,
    // A socket's path may not exceed some 103 bytes, which project folders do.
    unix_socket_directories: '',
    // What the server says goes to our log file, also before it has read its configuration.
    logging_collector: 'off',
  }
  const given = Object.entries({ ...settings, ...own })
  return ['-D', data, '-p', String(port), ...given.flatMap(([name, value]) => ['-c', `${name}=${value}`])]
}

export function checkSettings(settings: Readonly<Record<string, string>>): void {
  for (const name of Object.keys(settings)) {
    if (reserved.has(name.toLowerCase())) {
      throw new SluiceError('EMBEDDED_FORBIDDEN', {
        message:
          `The setting "${name}" of the embedded PostgreSQL cannot be changed: it is for this machine only. ` +
          'Leave it out, or set DATABASE_URL to a PostgreSQL server of your own.',
        details: { setting: name },
      })
    }
    if (!/^[a-z_][a-z0-9_.]*$/i.test(name)) {
      throw new SluiceError('CONFIG_INVALID', {
        message: `"${name}" is not the name of a PostgreSQL setting. Correct it in \`settings\`.`,
        details: { setting: name },
      })
    }
  }
}
