/**
 * Compares the ids of llama.cpp's own vectors (models/ggml-vocab-NAME.gguf with .inp and .out) with those of
 * the GGUF file here.
 *
 * Run: node compare_llama_vocab.ts DIRECTORY
 */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { openTokenizer } from '@cairn-tune/tokenizers'
import { readModelText } from '../../src/model-texts.ts'

const directory = process.argv[2] ?? '.'
const totals = { files: 0, texts: 0, refused: 0, wrong: 0 }
for (const name of readdirSync(directory).filter(file => file.endsWith('.gguf'))) {
  totals.files++
  const path = join(directory, name)
  try {
    const tokenizer = openTokenizer((await readModelText(path, 'tokenizer.json')) ?? '')
    const texts = readFileSync(`${path}.inp`, 'utf8').split('\n__ggml_vocab_test__\n')
    const ids = readFileSync(`${path}.out`, 'utf8').split('\n')
    const rows = texts.flatMap((text, i) => {
      const wanted = (ids[i] ?? '').trim()
      const own = tokenizer.idsOf(text, { special: false }).join(' ')
      return i < ids.length - 1 ? [{ text, wanted, own }] : []
    })
    const wrong = rows.filter(({ wanted, own }) => own !== wanted)
    totals.texts += rows.length
    totals.wrong += wrong.length
    console.log(`${name}: ${rows.length} texts, ${wrong.length} differ`)
    for (const { text, wanted, own } of wrong.slice(0, 3)) console.log(JSON.stringify({ text, wanted, own }))
  } catch (error) {
    totals.refused++
    console.log(`${name}: ${String(error).slice(0, 300)}`)
  }
}
console.log(JSON.stringify(totals))
