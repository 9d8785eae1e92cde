/** Compiles what the other stages need, so that no measurement waits for a compiler. */
import { createCudaEngine, createEngine, createGroup } from '@cairn-tune/native'

const log = (line: string): void => console.log(line)
using processor = await createEngine({ log })
console.log(`${processor.isa}, ${processor.threads} threads`)
using card = await createCudaEngine({ log })
console.log(card.isa)
await createGroup(1, log)
