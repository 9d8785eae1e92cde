import { readRows, type ShownRow, type ShownRows, type TrainOn } from '@cairn-tune/train'
import { readTemplate } from '@cairn-tune/weights'
import { defineCommand, takePositionals, wholeNumber } from '../command.ts'
import { EXIT, UsageError } from '../exit.ts'

const DEFAULT_ROWS = 3
const MODES: readonly TrainOn[] = ['assistant', 'completion', 'all']
/** Marks trained text: green and bold on a terminal, in brackets elsewhere. */
type Mark = (text: string) => string
const inBrackets: Mark = text => `⟦${text}⟧`
/** A terminal may reset its color at the end of a line. */
const inColor: Mark = text => text.replaceAll(/[^\n]+/g, '\x1b[1;32m$&\x1b[0m')

export const dataShow = defineCommand({
  name: 'data show',
  summary: 'Show rows of a data set as a run tokenises them, with the trained text marked',
  usage: [
    [
      'data show DATASET --model MODEL',
      `print the first ${DEFAULT_ROWS} rows, counts, and what is skipped and why`,
    ],
    ['  --row N', 'only row N, from 1'],
    ['  --train-on assistant|completion|all', 'default: assistant'],
    ['  --max-seq-length N', 'default: 2048'],
    ['  --split NAME', 'default: train'],
    ['  --columns ours=theirs,…', 'names of columns, as dataset_columns'],
    ['  --chat-template FILE', 'chat template instead of that of the model; a file or the text itself'],
    ['  --color', 'mark trained text with color even when the output goes elsewhere'],
  ],
  options: {
    model: { type: 'string' },
    row: { type: 'string' },
    'train-on': { type: 'string', default: 'assistant' },
    'max-seq-length': { type: 'string' },
    split: { type: 'string' },
    columns: { type: 'string' },
    'chat-template': { type: 'string' },
    color: { type: 'boolean', default: false },
  },
  async run({ values, positionals }, io) {
    const [dataset] = takePositionals(positionals, ['DATASET'])
    const { model, split, columns, json, 'chat-template': template } = values
    if (model === undefined)
      throw new UsageError('data show needs --model, whose tokenizer and template it uses')
    const trainOn = MODES.find(mode => mode === values['train-on'])
    if (!trainOn) throw new UsageError(`--train-on must be ${MODES.join(', ')}, got ${values['train-on']}`)
    const row = wholeNumber('row', values.row, 1)
    const shown = await readRows({
      dataset,
      model,
      trainOn,
      maxSeqLength: wholeNumber('max-seq-length', values['max-seq-length'], 1) ?? 2048,
      isShown: index => (row === undefined ? index < DEFAULT_ROWS : index === row - 1),
      hub: { env: io.env, signal: io.signal },
      ...(split === undefined ? {} : { split }),
      ...(columns === undefined ? {} : { columns: columns.split(',') }),
      ...(template === undefined ? {} : { chatTemplate: await readTemplate('--chat-template', template) }),
    })
    if (row !== undefined && row > shown.examples)
      throw new UsageError(`--row ${row}: the data set has ${shown.examples} rows that can be read`)
    const isColored = values.color || (process.stdout.isTTY && io.env['NO_COLOR'] === undefined)
    io.out(json ? `${JSON.stringify(shown)}\n` : textOf(shown, isColored ? inColor : inBrackets))
    return EXIT.ok.code
  },
})

function rowText({ where, parts, tokens, trained, isCut, isSkipped, reason }: ShownRow, mark: Mark): string {
  if (reason !== undefined) return `── ${where}: ${isSkipped ? 'skipped' : 'nothing is trained'}: ${reason}\n`
  const note = isCut ? '; the rest is cut' : ''
  const text = parts.map(part => (part.isTrained ? mark(part.text) : part.text)).join('')
  return `── ${where}: ${tokens} tokens, ${trained} trained${note}\n${text}\n`
}

function textOf({ rows, ...all }: ShownRows, mark: Mark): string {
  const { reasons, rows: skipped } = all.skipped
  return [
    ...rows.map(row => rowText(row, mark)),
    `${all.source}: ${all.examples} rows, ${all.tokens} tokens, ${all.trained} trained; ` +
      `${all.truncated} cut, ${all.untrained} without a trained token, ${skipped} skipped\n`,
    ...reasons.map(({ reason, rows: count, first }) => `  skipped ${count}: ${reason} (first ${first})\n`),
  ].join('')
}
