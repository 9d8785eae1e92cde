/** The service's files are private to its user, whatever the umask and the directory's mode. */
import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createSealing } from '@cairn/sessions'
import { tally } from '@cairn/protocol/test/attacks'
import { expect, test } from 'vitest'
import { cairn, makePlace, startServer } from '../server.ts'
import { newSession, runTurn } from '../session.ts'

const SCENARIO = {
  rules: [
    {
      when: { user: '^work$', step: 0 },
      answer: {
        tool_calls: [
          { name: 'write_file', arguments: { path: 'made/by-tool.txt', content: 'x' } },
          {
            name: 'terminal',
            arguments: { command: 'umask >umask.txt; touch by-command.txt; mkdir by-command' },
          },
        ],
      },
    },
    { answer: { text: 'Done.' } },
  ],
}

const isOpen = (path: string): boolean => {
  const stats = lstatSync(path)
  return !stats.isSymbolicLink() && (stats.mode & 0o077) !== 0
}
const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => !entry.isDirectory())
    .map(entry => join(entry.parentPath, entry.name))

/**
 * Promise 11.13: Other users read neither the data directory nor a backup, and a restored backup opens sealed
 * secrets.
 */
test('no other user can read the data directory or a backup, even if the directory was open before', async () => {
  const place = makePlace({ scenario: SCENARIO })
  mkdirSync(place.dataDir, { recursive: true })
  chmodSync(place.dataDir, 0o755)
  for (const name of ['search.db', 'cairn.lock', 'cairn.pid', 'notes.txt'])
    writeFileSync(join(place.dataDir, name), '', { mode: 0o644 })
  const server = await startServer(place)
  const id = await newSession(server.client)
  await runTurn(server.client, id, 'work')
  await expect.poll(() => readdirSync(place.dataDir)).toContain('search.db-wal')
  const sealing = createSealing({ file: join(place.dataDir, 'secrets.key') })
  const sealed = sealing.seal('a row', 'the password of a channel')
  const copy = join(place.dir, 'copy')
  expect((await cairn(place, ['backup', copy])).code).toBe(0)
  const open = [place.dataDir, ...filesIn(place.dataDir), copy, ...filesIn(copy)].filter(
    path => isOpen(path) && !path.startsWith(join(copy, 'workspaces')),
  )
  tally('files of the service that other users can read', filesIn(place.dataDir).length, open.length)
  expect(open).toEqual([])
  expect(readdirSync(place.dataDir)).toEqual(
    expect.arrayContaining(['search.db', 'search.db-wal', 'cairn.pid']),
  )
  // The backup alone opens sealed secrets.
  const restored = createSealing({ file: join(copy, 'secrets.key') })
  expect(restored.open('a row', sealed)).toBe('the password of a channel')

  // The modes of workspace files follow the umask that the server was started with.
  const workspace = join(place.workspaces, id)
  expect(readFileSync(join(workspace, 'umask.txt'), 'utf8')).toBe('0022\n')
  const modes = ['made', 'made/by-tool.txt', 'by-command.txt', 'by-command'].map(
    path => statSync(join(workspace, path)).mode & 0o777,
  )
  expect(modes).toEqual([0o755, 0o644, 0o644, 0o755])
})
