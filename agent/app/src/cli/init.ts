/** cairn init: writes an initial cairn.yaml with every line explained. */
import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { assetBeside } from '@cairn/tooling/beside'
import { EXIT, UsageError } from '../exit.ts'
import { defineCommand, takePositionals } from './command.ts'

const SAMPLE = assetBeside(import.meta, './cairn.sample.yaml')

export const init = defineCommand({
  name: 'init',
  summary: 'Write a commented cairn.yaml',
  usage: [
    ['init', 'write it to this directory, or to CAIRN_CONFIG; an existing file is not changed'],
    ['  --stdout', 'print it instead'],
  ],
  options: { stdout: { type: 'boolean', default: false } },
  async run({ values, positionals }, io) {
    takePositionals(positionals, [])
    const text = readFileSync(SAMPLE, 'utf8')
    if (values.stdout) {
      io.out(text)
      return EXIT.ok.code
    }
    const file = resolve(io.env['CAIRN_CONFIG'] || './cairn.yaml')
    try {
      writeFileSync(file, text, { flag: 'wx' })
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
      throw new UsageError(`${file} already exists; cairn init --stdout prints the sample`, {
        cause: error,
      })
    }
    io.out(values.json ? `${JSON.stringify({ file })}\n` : `${file}\n`)
    return EXIT.ok.code
  },
})
