/**
 * Writes the config of a family's golden model and an adapter for interop_adapter.py, reads PEFT's, or
 * merges: node make_adapter.ts write|read|merge DIR [FAMILY]
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseModelConfig, partsOf } from '@cairn-tune/models'
import {
  exactJson,
  isFeedForward,
  linearsOf,
  parseExact,
  readAdapter,
  writeAdapter,
} from '@cairn-tune/weights'
import { initAdapter } from '../../src/adapter-init.ts'
import { mergeAdapter } from '../../src/merge.ts'
import { createRandom } from '../../src/random.ts'

const [verb, directory = '', family = 'qwen3'] = process.argv.slice(2)
const golden = new URL(`../../../models/test/golden/families/${family}.json`, import.meta.url)
const { config } = JSON.parse(await readFile(golden, 'utf8')) as { config: Record<string, unknown> }
// PEFT 0.21.2 takes adapters of experts, or of the dense layers of a model that has both, but not both.
const keys = { ...config, ...('mlp_only_layers' in config && { mlp_only_layers: [] }) }
const { projections, modules: all } = partsOf(parseModelConfig('config.json', keys))

if (verb === 'write') {
  await mkdir(join(directory, 'model'), { recursive: true })
  // transformers refuses 0 for a key that must be 0.0.
  const exact = parseExact(await readFile(golden, 'utf8')) as { config: object }
  await writeFile(
    join(directory, 'model', 'config.json'),
    exactJson({ ...exact.config, ...('mlp_only_layers' in config && { mlp_only_layers: [] }) }),
  )
  const rank = 4
  const expertRank = projections.some(({ experts }) => experts !== undefined) ? 2 : undefined
  const matrices = projections.flatMap(projection => {
    const own = (isFeedForward(projection.name) ? expertRank : undefined) ?? rank
    return linearsOf(projection).flatMap(name => [
      { name: `${name}.lora_A.weight`, shape: [own, projection.inputs] as const },
      { name: `${name}.lora_B.weight`, shape: [projection.outputs, own] as const },
    ])
  })
  const random = createRandom(3)
  const tensors = initAdapter(1, matrices).map(tensor =>
    tensor.name.includes('lora_B')
      ? { ...tensor, values: tensor.values.map(() => random.next() - 0.5) }
      : tensor,
  )
  await writeAdapter(
    join(directory, 'adapter'),
    {
      baseModel: 'tiny',
      lora_rank: rank,
      lora_expert_rank: expertRank,
      lora_alpha: 8,
      lora_dropout: 0,
      lora_target_modules: all,
    },
    tensors,
  )
  console.log(`wrote ${tensors.length} tensors`)
} else if (verb === 'merge') {
  await mergeAdapter({
    base: join(directory, 'base'),
    adapter: join(directory, 'adapter'),
    output: join(directory, 'merged'),
  })
} else {
  const {
    tensors,
    lora_alpha: alpha,
    lora_target_modules: modules,
  } = await readAdapter(join(directory, 'peft'))
  console.log(`read ${tensors.length} tensors of PEFT, alpha ${alpha}, ${modules.join(' ')}`)
}
