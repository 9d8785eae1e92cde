import { expect, test } from 'vitest'
import { folderOf } from './file-tree.ts'

test('builds nested folders from paths in any order, sorted by name', () => {
  const root = folderOf([
    { path: 'src/b/deep.ts', kind: 'file', size: 1 },
    { path: 'README.md', kind: 'file', size: 2 },
    { path: 'src', kind: 'dir' },
    { path: 'src/n10.ts', kind: 'file' },
    { path: 'src/n9.ts', kind: 'file' },
    { path: 'empty', kind: 'dir' },
  ])
  expect(root.folders.map(({ name }) => name)).toEqual(['empty', 'src'])
  expect(root.files).toEqual([{ path: 'README.md', name: 'README.md', size: 2 }])
  const src = root.folders[1]
  expect(src?.files.map(({ name }) => name)).toEqual(['n9.ts', 'n10.ts'])
  expect(src?.folders[0]).toMatchObject({ path: 'src/b', files: [{ path: 'src/b/deep.ts' }] })
})
