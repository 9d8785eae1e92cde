/** What a runner needs to run coding agents. */
import type { CodingAgents } from './agent-process.ts'
import type { Semaphore } from './semaphore.ts'

export type Coding = { agents: CodingAgents; semaphore: Semaphore }
