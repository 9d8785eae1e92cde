import { OP_NAMES, specOf } from '@cairn-tune/ops'
import { defineCommand, table } from '../command.ts'
import { EXIT, UsageError } from '../exit.ts'

export const ops = defineCommand({
  name: 'ops',
  summary: 'List the tensor ops that programs use',
  usage: [
    ['ops', 'list all ops with their meaning'],
    ['ops NAME', 'show the inputs, attributes and outputs of one op'],
  ],
  options: {},
  async run({ values, positionals: [name] }, io) {
    const chosen = name === undefined ? OP_NAMES : OP_NAMES.filter(op => op === name)
    if (chosen.length === 0)
      throw new UsageError(`unknown op ${JSON.stringify(name)}; \`cairn-tune ops\` lists all ops`)
    if (values.json) io.out(`${JSON.stringify(Object.fromEntries(chosen.map(op => [op, specOf(op)])))}\n`)
    else if (name === undefined) io.out(table(chosen.map(op => [op, specOf(op).doc])))
    else
      for (const op of chosen)
        io.out(
          table([
            [op, specOf(op).doc],
            ...Object.entries({ ...specOf(op).inputs, ...specOf(op).attrs }),
            ...Object.entries(specOf(op).outputs).map(([key, type]): [string, string] => [`→ ${key}`, type]),
          ]),
        )
    return EXIT.ok.code
  },
})
