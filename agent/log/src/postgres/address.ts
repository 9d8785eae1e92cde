/** Parses DATABASE_URL into the server's address and our own parameters. */

export type PostgresAddress = {
  /** The URL for the driver. */
  url: string
  schema: string
  /** Connections for reads and small writes, in addition to a writer and a listener. */
  pool: number
  /** Server settings from the URL, as `-c name=value`. */
  options: string
  /** The address for messages, without the password. */
  shown: string
}

const DEFAULT_SCHEMA = 'cairn'
const DEFAULT_POOL = 8
/** A name that needs no quoting, short enough to be extended to the name of a channel. */
const SCHEMA = /^[a-z_][a-z0-9_]{0,49}$/

/**
 * The URL is not a valid Postgres URL. The error never contains the URL itself, which may hold a password.
 */
export class InvalidDatabaseUrl extends Error {
  override readonly name = 'InvalidDatabaseUrl'
}

export const isPostgresUrl = (text: string): boolean => /^postgres(ql)?:\/\//i.test(text)

function parse(text: string): URL {
  try {
    return new URL(text)
  } catch {
    throw new InvalidDatabaseUrl(
      'expected postgres://USER:PASSWORD@HOST:PORT/DATABASE, got an invalid URL ' +
        '(percent-encode special characters of the password)',
    )
  }
}

export function parsePostgresUrl(text: string, schema: string = DEFAULT_SCHEMA): PostgresAddress {
  const url = parse(text)
  if (!isPostgresUrl(text))
    throw new InvalidDatabaseUrl(
      `expected a URL that starts with postgres://, got ${url.protocol}//…: other databases are not ` +
        'supported; without it the embedded store runs',
    )
  const take = (name: string): string | null => {
    const value = url.searchParams.get(name)
    url.searchParams.delete(name)
    return value
  }
  const named = take('schema') ?? schema
  if (!SCHEMA.test(named) || named.startsWith('pg_'))
    throw new InvalidDatabaseUrl(
      'expected a schema of lower-case letters, digits and _ (at most 50, not beginning with pg_), got ' +
        `"${named}"`,
    )
  const pool = Number(take('pool') ?? DEFAULT_POOL)
  if (!Number.isInteger(pool) || pool < 1 || pool > 1000)
    throw new InvalidDatabaseUrl('expected a pool of 1 to 1000 connections')
  const options = take('options') ?? ''
  const shown = new URL(url)
  if (shown.password !== '') shown.password = '***'
  if (shown.searchParams.has('password')) shown.searchParams.set('password', '***')
  shown.searchParams.set('schema', named)
  return { url: url.href, schema: named, pool, options, shown: shown.href }
}
