/** Writes the model and adapters that make_greedy.py reads: node write_models.ts DIR */
import { join } from 'node:path'
import { ADAPTERS, writeRandomAdapter, writeRandomModel } from '../random-model.ts'

const [directory = ''] = process.argv.slice(2)
await writeRandomModel(join(directory, 'base'))
for (const [name, adapter] of Object.entries(ADAPTERS))
  await writeRandomAdapter(join(directory, name), adapter)
