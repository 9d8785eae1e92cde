/** The agent's own reports as a row of the capabilities: progress of long work, and its end. */
import type { Capability } from '../../turn/capability.ts'
import { announceEnd, checkIn } from './announce.ts'

export const announcements: Capability = {
  name: 'announcements',
  beforeRequest: checkIn,
  onEnd: announceEnd,
}
