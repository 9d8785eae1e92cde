/** What a killed service leaves behind, and which service may remove it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { identify, isRunning } from '../src/processes.ts'
import { openServiceFolder, reapDeadServices, SERVICE_VARIABLE } from '../src/service-folder.ts'
import { makeFolder } from './make-folder.ts'

const SOURCE = new URL('../src/service-folder.ts', import.meta.url).href

/** A process with its own folder, which prints the path. */
async function startService(parent: string) {
  const script =
    `const { openServiceFolder } = await import('${SOURCE}');` +
    `console.log((await openServiceFolder(process.argv[1])).path); setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, parent])
  onTestFinished(() => void child.kill('SIGKILL'))
  const [path] = (await once(child.stdout, 'data')) as [Buffer]
  const kill = async () => {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  return { path: path.toString().trim(), kill }
}

/** A process that a sandbox of the service at `folder` could have left. */
function leave(folder: string) {
  const child = spawn('sleep', ['600'], { env: { [SERVICE_VARIABLE]: folder }, stdio: 'ignore' })
  onTestFinished(() => void child.kill('SIGKILL'))
  const id = identify(child.pid ?? 0)
  if (id === null) throw new Error('sleep does not run')
  return id
}

test('removes the folder of a killed service and ends its processes, but not those of a live one', async () => {
  const parent = makeFolder('temp')
  const dead = await startService(parent)
  const live = await startService(parent)
  const ours = await openServiceFolder(parent)
  onTestFinished(() => ours.close())
  const left = leave(dead.path)
  const others = [leave(live.path), leave(`${dead.path}x`), leave(ours.path)]
  expect(await reapDeadServices(parent)).toEqual({ folders: 0, processes: 0 })

  await dead.kill()
  expect(await reapDeadServices(parent)).toEqual({ folders: 1, processes: 1 })
  expect([dead.path, live.path, ours.path].map(path => existsSync(path))).toEqual([false, true, true])
  await expect.poll(() => isRunning(left)).toBe(false)
  expect(others.map(isRunning)).toEqual([true, true, true])
})

test('keeps a folder that only has the name, and the target of a link', async () => {
  const parent = makeFolder('temp')
  const elsewhere = makeFolder('elsewhere')
  writeFileSync(join(elsewhere, 'machine'), hostname())
  symlinkSync(elsewhere, join(parent, 'cairn-service-link'))
  mkdirSync(join(parent, 'cairn-service-empty'), { mode: 0o700 })
  mkdirSync(join(parent, 'cairn-service-other'), { mode: 0o700 })
  writeFileSync(join(parent, 'cairn-service-other', 'machine'), `not-${hostname()}`)
  writeFileSync(join(parent, 'cairn-service-file'), 'a file')
  expect(await reapDeadServices(parent)).toEqual({ folders: 0, processes: 0 })
  expect(readdirSync(parent)).toHaveLength(4)
  expect(readdirSync(elsewhere)).toEqual(['machine'])
})

test('a service removes its folder when it ends', async () => {
  const parent = makeFolder('temp')
  const folder = await openServiceFolder(parent)
  folder.make('p')
  await folder.close()
  expect(readdirSync(parent)).toEqual([])
})
