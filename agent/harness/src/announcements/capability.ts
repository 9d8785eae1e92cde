/** What an agent tells of itself, as a row of the capabilities: how long work goes, and that it is over. */
import type { Capability } from '../turn/capability.ts'
import { announceEnd, checkIn } from './announce.ts'

export const announcements: Capability = {
  name: 'announcements',
  beforeRequest: checkIn,
  onEnd: announceEnd,
}
