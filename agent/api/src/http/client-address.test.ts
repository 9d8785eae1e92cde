import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { createClientAddress } from './client-address.ts'

const from = (remoteAddress: string, forwarded?: string) =>
  ({
    socket: { remoteAddress },
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
  }) as unknown as IncomingMessage

test('without a trusted proxy only the socket is believed', () => {
  const addressOf = createClientAddress([])
  expect(addressOf(from('203.0.113.9', '198.51.100.1'))).toBe('203.0.113.9')
  expect(addressOf(from('::ffff:203.0.113.9'))).toBe('203.0.113.9')
})

test('a trusted proxy is believed, and what was written before it only as far as it is ours as well', () => {
  const addressOf = createClientAddress(['127.0.0.1', '10.0.0.0/8', 'fd00::/8'])
  expect(addressOf(from('127.0.0.1', '198.51.100.1'))).toBe('198.51.100.1')
  expect(addressOf(from('::ffff:10.1.2.3', '198.51.100.1'))).toBe('198.51.100.1')
  expect(addressOf(from('fd00::1', '2001:db8::1, 10.0.0.7'))).toBe('2001:db8::1')
  // The caller wrote the first one itself.
  expect(addressOf(from('10.0.0.1', '1.2.3.4, 198.51.100.1, 10.0.0.7'))).toBe('198.51.100.1')
  expect(addressOf(from('203.0.113.9', '198.51.100.1'))).toBe('203.0.113.9')
  for (const forwarded of [undefined, '', 'unknown', 'a, b', ','])
    expect(addressOf(from('127.0.0.1', forwarded))).toBe('127.0.0.1')
})

test.each(['localhost', '10.0.0.0/x', '', '300.1.1.1'])('the entry %j is refused by name', entry => {
  expect(() => createClientAddress([entry])).toThrow(`"${entry}" is no address`)
})
