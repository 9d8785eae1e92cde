/** Contract 4: uploads of a person into a workspace, and files as they were before a call changed them. */
import { createHash } from 'node:crypto'
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startService } from './service.ts'

const base64 = (text: string) => Buffer.from(text).toString('base64')

/** Promise 4.14: An uploaded file stays inside the workspace and replaces no file. */
test('an upload is stored below uploads, replaces no file, and stays in the workspace', async () => {
  await using service = await startService()
  const id = await service.newSession()
  const put = (filename: string, content: string) =>
    service.call(`/v1/sessions/${id}/workspace/file`, { method: 'POST', body: { filename, content } })
  expect((await put('notes.md', base64('one'))).json).toEqual({
    path: 'uploads/notes.md',
    filename: 'notes.md',
    size: 3,
  })
  expect((await put('notes.md', base64('two'))).json.path).toBe('uploads/notes-2.md')
  const root = join(service.dir, 'workspaces', id)
  expect(await readFile(join(root, 'uploads', 'notes.md'), 'utf8')).toBe('one')
  expect((await put('../../x', base64('x'))).json.path).toMatch(/^uploads\/[^/]+$/)
  expect((await put('a', 'not base64!')).status).toBe(422)
  // A link instead of the folder is not followed out of the workspace.
  const other = await service.newSession()
  await mkdir(join(service.dir, 'workspaces', other), { recursive: true })
  await symlink(service.dir, join(service.dir, 'workspaces', other, 'uploads'))
  const refused = await service.call(`/v1/sessions/${other}/workspace/file`, {
    method: 'POST',
    body: { filename: 'x', content: base64('x') },
  })
  expect(refused.json.code).toBe('wrong_target')
})

/** Promise 4.14: A checkpoint shows only files of its own session, as they were. */
test('a checkpoint returns its files as they were, and nothing else', async () => {
  await using service = await startService()
  const id = await service.newSession()
  const folder = join(service.dir, 'checkpoints', id)
  const keep = async (content: string | Buffer): Promise<string> => {
    const hash = createHash('sha256').update(content).digest('hex')
    await mkdir(join(folder, hash.slice(0, 2)), { recursive: true })
    await writeFile(join(folder, hash.slice(0, 2), hash), content)
    return hash
  }
  const text = await keep('before\n')
  const bytes = await keep(Buffer.from([0, 1]))
  const hash = await keep(
    JSON.stringify({
      'a.txt': { sha256: text, mode: 0o644 },
      'b.bin': { sha256: bytes, mode: 0o644 },
      'new.txt': null,
    }),
  )
  const read = (of: string, session = id) =>
    service.call(`/v1/sessions/${session}/workspace/checkpoints/${of}`)
  expect((await read(hash)).json).toEqual({
    files: [
      { path: 'a.txt', existed: true, size: 7, content: 'before\n' },
      { path: 'b.bin', existed: true, size: 2, content: null },
      { path: 'new.txt', existed: false, size: 0, content: null },
    ],
  })
  for (const other of ['0'.repeat(64), '..%2F..', 'x']) expect((await read(other)).status, other).toBe(404)
  // A content that is not a manifest, and the checkpoint of another session.
  expect((await read(text)).status).toBe(404)
  expect((await read(hash, await service.newSession())).status).toBe(404)
})
