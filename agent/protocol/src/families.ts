/** Families group the types for people: colours and filters of the EVENTS tab, sections of docs/events.md. */
import type { EventType } from './events.ts'

export const FAMILIES = [
  'conversation',
  'tools',
  'plan',
  'coordination',
  'missions',
  'governance',
  'saga',
  'experts',
  'goals',
  'inbox',
  'browser',
  'code',
  'lifecycle',
  'reserved',
] as const
export type Family = (typeof FAMILIES)[number]

type Prefix = EventType extends infer T ? (T extends `${infer P}.${string}` ? P : never) : never

const BY_PREFIX: Record<Prefix, Family> = {
  user: 'conversation',
  llm: 'conversation',
  ask_user_question: 'conversation',
  iteration: 'conversation',
  turn: 'conversation',
  advisor: 'conversation',
  tool: 'tools',
  artifact: 'tools',
  skill: 'plan',
  todo: 'plan',
  worker: 'coordination',
  delegation: 'coordination',
  task: 'coordination',
  board: 'coordination',
  loop: 'coordination',
  mission: 'missions',
  research: 'missions',
  policy: 'governance',
  disclosure: 'governance',
  saga: 'saga',
  expert: 'experts',
  span: 'goals',
  outcome: 'goals',
  inbox: 'inbox',
  browser: 'browser',
  code: 'code',
  harness: 'lifecycle',
  session: 'lifecycle',
  context: 'lifecycle',
  memory: 'reserved',
  ambient: 'reserved',
  sandbox: 'reserved',
}
const EXCEPTIONS: Partial<Record<EventType, Family>> = {
  'user.define_outcome': 'goals',
  'user.feedback': 'experts',
  'session.start': 'reserved',
  'session.reset': 'reserved',
  'artifact.updated': 'reserved',
  'research.dispatched': 'reserved',
  'research.merged': 'reserved',
  'research.pruned': 'reserved',
  'research.report': 'reserved',
}

export const familyOf = (type: EventType): Family =>
  EXCEPTIONS[type] ?? BY_PREFIX[type.slice(0, type.indexOf('.')) as Prefix]
