/** What is set beside the log: how it is started, what it promises, and how to get it. */
import type { Spec } from './load.ts'

export type Running = {
  version: string
  spec: Spec
  /** Its processes, without their children; none for what runs within the load generator. */
  pids: readonly number[]
  stop(): Promise<void>
}
export type Peer = {
  name: string
  /** What an acknowledgement of it means here. */
  acknowledged: string
  /** How to install it, for a machine that lacks it. */
  install: string
  /** Which measurements make sense for it. */
  appends: boolean
  delivers: boolean
  /** Null when it is not installed. `dir` is its own and goes afterwards. */
  start(dir: string): Promise<Running | null>
}
