import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { followProcesses, listProcesses, NO_WORK, type ProcessTimes, ticksOf } from './own-work.ts'

const proc = (pid: number, parent: number, own: number, reaped = 0): ProcessTimes => ({
  pid,
  parent,
  startedAt: pid * 10,
  own,
  reaped,
})

const ticksAfter = (...snapshots: readonly ProcessTimes[][]): number =>
  ticksOf(snapshots.reduce((state, now) => followProcesses(state, 1, now), NO_WORK))

test('counts the process and its descendants, and no others', () => {
  expect(ticksAfter([proc(1, 0, 5), proc(2, 1, 7), proc(3, 2, 11, 1), proc(9, 0, 100)])).toBe(24)
})

test('counts a child that ended once, as its parent’s', () => {
  expect(ticksAfter([proc(1, 0, 5), proc(2, 1, 7)], [proc(1, 0, 5, 8)])).toBe(13)
})

test('counts a process whose parent was killed, while it runs and after it ended', () => {
  const started = [proc(1, 0, 5), proc(2, 1, 7), proc(3, 2, 11)]
  const orphaned = [proc(1, 0, 5, 7), proc(3, 0, 20), proc(4, 3, 2)]
  expect(ticksAfter(started, orphaned)).toBe(34)
  expect(ticksAfter(started, orphaned, [proc(1, 0, 6, 7)])).toBe(6 + 7 + 20)
})

test('does not take another process with the pid of one that ended for it', () => {
  const reused = { ...proc(3, 0, 50), startedAt: 999 }
  expect(ticksAfter([proc(1, 0, 5), proc(3, 1, 11)], [proc(1, 0, 5, 11), reused])).toBe(16)
})

test('reads this process and its children from the system', async () => {
  const child = spawn(process.execPath, ['-e', 'process.stdin.resume()'])
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child, 'spawn')
  const listed = listProcesses()
  expect(listed.find(({ pid }) => pid === child.pid)?.parent).toBe(process.pid)
  expect(listed.find(({ pid }) => pid === process.pid)?.own).toBeGreaterThan(0)
})
