/** Contract 4: files of a workspace are returned, and nothing outside it, whatever the workspace contains. */
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startService } from './service.ts'

async function withWorkspace() {
  const service = await startService()
  const id = await service.newSession()
  const root = join(service.dir, 'workspaces', id)
  await mkdir(join(root, 'src'), { recursive: true })
  await mkdir(join(service.dir, 'workspaces', `${id}-other`), { recursive: true })
  await writeFile(join(service.dir, 'workspaces', `${id}-other`, 'theirs.txt'), 'not yours')
  await writeFile(join(root, 'src', 'main.txt'), 'héllo\n')
  const file = (path: string) =>
    service.call(`/v1/sessions/${id}/workspace/file?path=${encodeURIComponent(path)}`)
  return { service, id, root, file, [Symbol.asyncDispose]: () => service[Symbol.asyncDispose]() }
}

test('a file is returned as text, an image as base64, and long text truncated and marked', async () => {
  await using at = await withWorkspace()
  expect((await at.file('src/main.txt')).json).toEqual({
    path: 'src/main.txt',
    size: 7,
    encoding: 'utf-8',
    content: 'héllo\n',
    truncated: false,
  })
  expect((await at.file('./src/../src/main.txt')).json.path).toBe('src/main.txt')
  await writeFile(join(at.root, 'a.png'), Buffer.from([1, 2, 3]))
  expect((await at.file('a.png')).json).toEqual({
    path: 'a.png',
    size: 3,
    encoding: 'base64',
    content: 'AQID',
    truncated: false,
  })
  await writeFile(join(at.root, 'long.txt'), 'a' + 'é'.repeat(300_000))
  const long = (await at.file('long.txt')).json
  expect([long.truncated, long.size, long.content.length, long.content.at(-1)]).toEqual([
    true,
    600_001,
    250_000,
    'é',
  ])
  await writeFile(join(at.root, 'big.png'), Buffer.alloc(11 * 1024 * 1024))
  expect((await at.file('big.png')).json.code).toBe('wrong_target')
})

/** Promise 4: No path or link leads out of the workspace. */
test('no path and no link leads out of the workspace', async () => {
  await using at = await withWorkspace()
  await symlink(join(at.service.dir, 'auth-key.json'), join(at.root, 'key.txt'))
  await symlink(at.service.dir, join(at.root, 'data'))
  await symlink('loop', join(at.root, 'loop'))
  await symlink('src/main.txt', join(at.root, 'inside.txt'))
  for (const path of [
    'key.txt',
    'data/auth-key.json',
    'loop',
    '../x',
    '/etc/passwd',
    '..',
    '.',
    'src',
    'src/none',
    `../${at.id}-other/theirs.txt`,
    'src/main.txt/x',
    '\0',
    'a'.repeat(5000),
  ]) {
    const { status, json } = await at.file(path)
    expect([path, status, json.code]).toEqual([path, 404, 'not_found'])
  }
  expect((await at.file('inside.txt')).json.content).toBe('héllo\n')
})

test('the tree lists files and folders, follows no link, and is truncated at its limits', async () => {
  await using at = await withWorkspace()
  await symlink(at.service.dir, join(at.root, 'data'))
  const tree = () => at.service.call(`/v1/sessions/${at.id}/workspace/tree`)
  expect((await tree()).json).toEqual({
    entries: [
      { path: 'src', kind: 'dir' },
      { path: 'src/main.txt', kind: 'file', size: 7 },
    ],
    truncated: false,
  })
  await mkdir(join(at.root, ...'abcdefghijklmnop'), { recursive: true })
  const deep = (await tree()).json
  expect([
    deep.truncated,
    deep.entries.some(({ path }: { path: string }) => path === 'a/b/c/d/e/f/g/h/i/j/k/l'),
    deep.entries.some(({ path }: { path: string }) => path.endsWith('/m')),
  ]).toEqual([true, true, false])
  await Promise.all(Array.from({ length: 5100 }, (_, n) => writeFile(join(at.root, `f${n}`), '')))
  const wide = (await tree()).json
  expect([wide.truncated, wide.entries.length]).toEqual([true, 5000])
})
