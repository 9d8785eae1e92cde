/** What a worker runs coding agents with. */
import type { CodingAgents } from './agent-process.ts'
import type { Slots } from './slots.ts'

export type Coding = { agents: CodingAgents; slots: Slots }
