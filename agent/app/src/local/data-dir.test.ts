import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { spawnSync } from 'node:child_process'
import { expect, onTestFinished, test } from 'vitest'
import { announceServer, dataDirOf, findServer, reachableUrl } from './data-dir.ts'

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'cairn-data-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

test('finds a server that published its address until it stops', () => {
  const dir = folder()
  expect(findServer(dir)).toBeNull()
  const withdraw = announceServer(dir, { url: 'http://127.0.0.1:1', pid: process.pid, path: null })
  expect(findServer(dir)).toEqual({ url: 'http://127.0.0.1:1', pid: process.pid, path: null })
  expect(statSync(join(dir, 'server.json')).mode & 0o777).toBe(0o600)
  withdraw()
  expect(findServer(dir)).toBeNull()
})

test('ignores the files of a killed server', () => {
  const dir = folder()
  announceServer(dir, { url: 'http://127.0.0.1:1', pid: spawnSync('true').pid, path: null })
  expect(findServer(dir)).toBeNull()
  writeFileSync(join(dir, 'server.json'), '{"url"')
  expect(findServer(dir)).toBeNull()
})

test('the data directory is CAIRN_DATA, or ./data', () => {
  expect(dataDirOf({ CAIRN_DATA: '/some/where' })).toBe('/some/where')
  expect(dataDirOf({ CAIRN_DATA: '' })).toBe(join(process.cwd(), 'data'))
})

test('uses the local address of a server that listens on all addresses', () => {
  const urls = [
    ['127.0.0.1', 'IPv4'],
    ['0.0.0.0', 'IPv4'],
    ['::', 'IPv6'],
    ['::1', 'IPv6'],
  ].map(([address = '', family = '']) => reachableUrl({ address, family, port: 80 }))
  expect(urls).toEqual(['http://127.0.0.1:80', 'http://127.0.0.1:80', 'http://[::1]:80', 'http://[::1]:80'])
})
