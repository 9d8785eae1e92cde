/**
 * A service with a running command, browser and coding agent is killed. No process of their sandboxes
 * survives, and the next start removes the files.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makePlace, startServer } from './server.ts'
import { isType, newSession, PATIENCE_MS, say, waitFor } from './session.ts'

const call = (name: string, args: object) => ({ tool_calls: [{ name, arguments: args }] })
const scenario = {
  pace_ms: 0,
  rules: [
    { when: { system: 'You name conversations' }, answer: { text: 'Work' } },
    {
      when: { system: 'You are a coding agent' },
      steps: [call('terminal', { command: 'sleep 3609 & sleep 3608' }), { text: 'x' }],
    },
    { when: { user: '^look' }, steps: [call('browser_snapshot', {}), { text: 'Seen.' }] },
    {
      when: { user: '^wait' },
      steps: [
        call('terminal', { command: 'setsid sleep 3606 & echo began > began; sleep 3605' }),
        { text: 'x' },
      ],
    },
    { answer: { text: 'Very well.' } },
  ],
}

type Process = { pid: number; ppid: number; start: string; name: string }

function processes(): Process[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .flatMap(name => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'latin1')
        const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
        if (fields[0] === 'Z') return []
        const command = stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')'))
        return [{ pid: Number(name), ppid: Number(fields[1]), start: fields[19] ?? '', name: command }]
      } catch {
        // The process has ended.
        return []
      }
    })
}

function below(pid: number, all: readonly Process[]): Process[] {
  const children = all.filter(({ ppid }) => ppid === pid)
  return children.flatMap(child => [child, ...below(child.pid, all)])
}

/** Promise 11.8: A killed service leaves no sandboxed process, and the next start removes its files. */
test('a killed service leaves no sandboxed process, and the next start removes its files', async () => {
  const place = makePlace({ scenario, config: { code: { tool: 'allow' } } })
  const temp = join(place.dir, 't')
  mkdirSync(temp)
  place.env['TMPDIR'] = temp
  const server = await startServer(place)
  const { client } = server
  const [looks, waits, codes] = [await newSession(client), await newSession(client), await newSession(client)]
  await say(client, looks, 'look')
  await waitFor(client, looks, 0, isType('browser.provisioned'))
  await say(client, waits, 'wait')
  await say(client, codes, '/code linger')
  await waitFor(client, codes, 0, isType('code.run_progress'))
  await expect
    .poll(() => existsSync(join(place.workspaces, waits, 'began')), { timeout: PATIENCE_MS })
    .toBe(true)
  const running = () => below(server.pid, processes())
  await expect
    .poll(() => running().filter(({ name }) => name === 'sleep').length, { timeout: PATIENCE_MS })
    .toBe(4)
  const boxed = running()
  const names = boxed.map(({ name }) => name)
  for (const name of ['bwrap', 'perl', 'chromium', 'sleep']) expect(names).toContain(name)
  const left = readdirSync(temp).filter(name => name.startsWith('cairn-service-'))
  expect(left).toHaveLength(1)

  await server.kill()
  const alive = () => {
    const now = new Set(processes().map(({ pid, start }) => `${pid} ${start}`))
    return boxed.filter(({ pid, start }) => now.has(`${pid} ${start}`)).map(({ name }) => name)
  }
  await expect.poll(alive, { timeout: 10_000 }).toEqual([])
  expect(readdirSync(temp)).toContain(left[0])

  const next = await startServer(place)
  expect(readdirSync(temp)).not.toContain(left[0])
  console.info(`killed with ${boxed.length} processes in boxes; ${alive().length} left`)
  await next.stop()
  expect(readdirSync(temp).filter(name => name.startsWith('cairn-'))).toEqual([])
})
