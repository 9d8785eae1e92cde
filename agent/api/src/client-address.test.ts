import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { createClientAddress, networkOf } from './client-address.ts'

const from = (remoteAddress: string, forwarded?: string) =>
  ({
    socket: { remoteAddress },
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
  }) as unknown as IncomingMessage

test('without a trusted proxy only the address of the socket counts', () => {
  const addressOf = createClientAddress([])
  expect(addressOf(from('203.0.113.9', '198.51.100.1'))).toBe('203.0.113.9')
  expect(addressOf(from('::ffff:203.0.113.9'))).toBe('203.0.113.9')
})

test('a trusted proxy is believed, and addresses before it only while they are trusted proxies too', () => {
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

test.each(['localhost', '10.0.0.0/x', '', '300.1.1.1'])('rejects the entry %j with its value', entry => {
  expect(() => createClientAddress([entry])).toThrow(`"${entry}" is not an address`)
})

test('an unlisted proxy is reported once', () => {
  const told: string[] = []
  const addressOf = createClientAddress(['10.0.0.0/8'], address => told.push(address))
  addressOf(from('10.0.0.1', '198.51.100.1'))
  addressOf(from('172.16.0.1'))
  expect(told).toEqual([])
  addressOf(from('172.16.0.1', '198.51.100.1'))
  addressOf(from('172.16.0.2', '198.51.100.1'))
  expect(told).toEqual(['172.16.0.1'])
})

test.each([
  ['203.0.113.9', '203.0.113.9'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::7', '2001:db8:1:2::/64'],
  ['2001:0db8:0001:0002::7', '2001:db8:1:2::/64'],
  ['2001:db8::7', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['::', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['64:ff9b::203.0.113.9', '64:ff9b:0:0::/64'],
])('%s belongs to %s', (address, network) => {
  expect(networkOf(address)).toBe(network)
})
