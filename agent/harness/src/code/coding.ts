/** What a worker runs coding agents with. */
import type { CodingAgents } from './agent-process.ts'
import type { Semaphore } from './semaphore.ts'

export type Coding = { agents: CodingAgents; semaphore: Semaphore }
