/** Contract 11.13: edits of files in any encoding, and the bytes outside the replaced text. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rounds, tally } from '@cairn/protocol/test/attacks'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { editFileTool } from '../../src/tools/edit-file.ts'
import { makeContext, runParsed } from '../tools/tool-context.ts'

const context = makeContext()
const path = join(context.workspace, 'a')

/** Each position of the passage, without overlaps. */
function* placesOf(bytes: Buffer, passage: Buffer): Generator<number> {
  for (let at = bytes.indexOf(passage); at !== -1; at = bytes.indexOf(passage, at + passage.length)) yield at
}

const byte = fc.oneof(
  fc.constantFrom(...Buffer.from('aab \\n\r\\')),
  fc.constantFrom(0x81, 0x95, 0xc3, 0xa4, 0xef, 0xbf, 0xbd, 0xfc, 0xff),
)
const file = fc.array(byte, { maxLength: 40 }).map(bytes => Buffer.from(bytes))
const passage = fc.string({
  unit: fc.constantFrom('a', 'b', ' ', '\n', '\\', 'ä', '\ufffd'),
  minLength: 1,
  maxLength: 3,
})

test('property: an edit leaves every byte outside the replaced text unchanged, or changes nothing', async () => {
  const tries = rounds(1500, 30_000)
  let broken = 0
  await fc.assert(
    fc.asyncProperty(file, passage, passage, async (bytes, old_string, new_string) => {
      writeFileSync(path, bytes)
      const edit = { path: 'a', old_string, new_string, replace_all: true }
      const isDone = await runParsed(editFileTool, edit, context).then(
        () => true,
        () => false,
      )
      const old = Buffer.from(old_string)
      const kept: Buffer[] = []
      let from = 0
      for (const at of isDone ? placesOf(bytes, old) : []) {
        kept.push(bytes.subarray(from, at), Buffer.from(new_string))
        from = at + old.length
      }
      const expected = Buffer.concat([...kept, bytes.subarray(from)])
      const now = readFileSync(path)
      if (!now.equals(expected)) broken++
      expect(now).toEqual(expected)
    }),
    { numRuns: tries },
  )
  tally('edits of files in other encodings', tries, broken)
})
