/**
 * llama.cpp's ids of texts beside those that are read here: node interop_pieces.ts INSTALL FILE.gguf…, where
 * INSTALL is a directory with node-llama-cpp in its node_modules. Of each file, which needs no weights: every
 * line of docs/ and of this package's sources, and texts put together at random of letters, spaces, signs of
 * several scripts and the file's special tokens. With GOLDENS=FILE.json the first random texts are written
 * there (pieces.json, of the two files that make_pieces.py makes). Exit code 1 where ids differ.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { uniform } from '@cairn-tune/ops'
import { loadTokenizer } from '@cairn-tune/weights'
import { openGguf } from '@cairn-tune/weights/gguf/gguf-file'

const RANDOM_TEXTS = 5000
const GOLDENS = 60
const PIECES = [
  ...'aaaabbbeeenost AEN 0125.,;:=-_()[]{}<>/"\'',
  ...' \n\t▁éșțîâßжωא日本語한\u00a0\u3000\u0301\u{1F600}\u{1F1F7}\0',
  '  ',
  '   ',
  '        ',
  '\n\n',
  '====',
  'aaa',
  'ab',
  ' the',
  'mere',
  ' apples',
  'const',
  '<0x41>',
  '<0x0A>',
]

type Llama = {
  loadModel: (options: object) => Promise<{
    tokenize: (text: string, special: boolean) => number[]
    detokenize: (ids: number[], special: boolean) => string
  }>
}
const [install, ...files] = process.argv.slice(2)
if (!install || files.length === 0) throw new Error('usage: interop_pieces.ts INSTALL FILE.gguf…')
const entry = createRequire(pathToFileURL(join(install, 'package.json'))).resolve('node-llama-cpp')
const { getLlama } = (await import(pathToFileURL(entry).href)) as {
  getLlama: (options: object) => Promise<Llama>
}
const llama = await getLlama({ gpu: false, build: 'never', logLevel: 'disabled' })

const root = fileURLToPath(new URL('../../../../../', import.meta.url))
const lines = new Set(
  globSync(['docs/**/*.md', 'tune/weights/src/**/*.ts'], { cwd: root }).flatMap(file =>
    readFileSync(join(root, file), 'utf8').split('\n'),
  ),
)
lines.delete('')

/** Texts of 1 to 24 pieces, the same every time. */
function randomTexts(special: readonly string[]): string[] {
  // One piece in eight is a special token.
  const some = Array.from({ length: PIECES.length / 7 }, (_, i) => special[i % special.length] ?? '')
  const all = [...PIECES, ...some]
  return Array.from({ length: RANDOM_TEXTS }, (_, text) => {
    const draw = (i: number) => uniform({ seed: 1, step: text, op: 0 }, i)
    return Array.from(
      { length: 1 + Math.floor(24 * draw(0)) },
      (__, i) => all[Math.floor(all.length * draw(i + 1))],
    ).join('')
  })
}

/** transformers’ tokenizers absorb these behind a token that absorbs white space; llama.cpp only ASCII's. */
const OTHER_SPACES = /[\u00a0\u3000]/g
const DIFFERENT_SHOWN = 3

type Ids = (text: string) => number[]
/** How many texts have the same ids, and how many others would have them without those spaces. */
function countAlike(texts: readonly string[], ours: Ids, theirs: Ids): { alike: number; spaced: number } {
  let [alike, spaced, shown] = [0, 0, 0]
  for (const text of texts) {
    const [own, other] = [ours(text).join(' '), theirs(text).join(' ')]
    const bare = text.replaceAll(OTHER_SPACES, '')
    if (own === other) alike++
    else if (bare !== text && ours(bare).join(' ') === theirs(bare).join(' ')) spaced++
    else if (shown++ < DIFFERENT_SHOWN)
      console.log(`  ${JSON.stringify(text)}\n    here  ${own}\n    there ${other}`)
  }
  return { alike, spaced }
}

const goldens: Record<string, { text: string; ids: number[]; decoded: string }[]> = {}
for (const file of files) {
  const { metadata, close } = await openGguf(file)
  const types = metadata.numbers('tokenizer.ggml.token_type') ?? []
  const special = (metadata.texts('tokenizer.ggml.tokens') ?? []).filter((_, i) =>
    [2, 3, 4].includes(types[i] ?? 1),
  )
  await close()
  const ours = await loadTokenizer(file)
  const theirs = await llama.loadModel({ modelPath: file, vocabOnly: true })
  const idsOf = (text: string) => theirs.tokenize(text, true)
  const random = randomTexts(special)
  for (const [name, texts] of Object.entries({ lines: [...lines], random })) {
    const { alike, spaced } = countAlike(texts, ours.encode, idsOf)
    const decoded = texts.map(idsOf).filter(ids => ours.decode(ids) === theirs.detokenize(ids, true)).length
    console.log(
      `${basename(file)}, ${name}: ids of ${alike} of ${texts.length} texts alike` +
        `${spaced > 0 ? `, of ${spaced} but for spaces that are not ASCII's` : ''}; ` +
        `decoded alike ${decoded}`,
    )
    if (alike + spaced < texts.length || decoded < texts.length) process.exitCode = 1
  }
  const plain = random.filter(text => text === text.replaceAll(OTHER_SPACES, ''))
  goldens[basename(file, '.gguf')] = plain.slice(0, GOLDENS).map(text => {
    const ids = idsOf(text)
    return { text, ids, decoded: theirs.detokenize(ids, true) }
  })
}
if (process.env['GOLDENS']) writeFileSync(process.env['GOLDENS'], `${JSON.stringify(goldens)}\n`)
