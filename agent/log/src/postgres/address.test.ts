import { InvalidDatabaseUrl, parsePostgresUrl } from './address.ts'
import { expect, test } from 'vitest'

test('Cairn’s own parameters are removed from the URL, and the rest is passed to the driver', () => {
  expect(
    parsePostgresUrl(
      'postgres://ada:s%40fe@db:5433/app?schema=mine&pool=3&sslmode=require&options=-c%20work_mem%3D8MB',
    ),
  ).toEqual({
    url: 'postgres://ada:s%40fe@db:5433/app?sslmode=require',
    schema: 'mine',
    pool: 3,
    options: '-c work_mem=8MB',
    shown: 'postgres://ada:***@db:5433/app?sslmode=require&schema=mine',
  })
})

test('the schema of the URL takes precedence over the given one, and the default is cairn', () => {
  expect(parsePostgresUrl('postgresql://db/app').schema).toBe('cairn')
  expect(parsePostgresUrl('postgresql://db/app', 'given').schema).toBe('given')
  expect(parsePostgresUrl('postgresql://db/app?schema=named', 'given').schema).toBe('named')
})

test('the password is hidden anywhere in the URL', () => {
  expect(parsePostgresUrl('postgres://ada:secret@db/app?password=secret').shown).not.toContain('secret')
})

test.each([
  ['db.example', 'got an invalid URL'],
  ['mysql://ada:secret@db/app', 'got mysql://'],
  ['postgres://ada:secret@db/app?schema=Mine', 'got "Mine"'],
  ['postgres://ada:secret@db/app?schema=a;drop%20schema%20b', 'expected a schema of'],
  ['postgres://ada:secret@db/app?schema=pg_temp', 'not beginning with pg_'],
  ['postgres://ada:secret@db/app?pool=none', 'expected a pool of 1 to 1000'],
])('rejects %s without showing its password', (url, message) => {
  const parse = (): unknown => parsePostgresUrl(url)
  expect(parse).toThrow(InvalidDatabaseUrl)
  expect(parse).toThrow(message)
  expect(parse).not.toThrow('secret')
})
