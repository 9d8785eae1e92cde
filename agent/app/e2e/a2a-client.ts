/** The Agent2Agent project's own client, its requests, and a task as such a client keeps it. */
import { randomUUID } from 'node:crypto'
import { type Message, type Part, Role, type StreamResponse, type Task, TaskState } from '@a2a-js/sdk'
import { type Client, ClientFactory, JsonRpcTransportFactory } from '@a2a-js/sdk/client'

export const A2A_CONFIG = { compat: { a2a: { agents: ['assistant'] } } }

/** `through` carries the requests of the client. */
export function openA2a(url: string, token: string, through: typeof fetch = fetch): Promise<Client> {
  const fetchImpl: typeof fetch = (input, init) => {
    const headers = { ...(init?.headers as Record<string, string>), authorization: `Bearer ${token}` }
    return through(input, { ...init, headers })
  }
  const transports = [new JsonRpcTransportFactory({ fetchImpl })]
  return new ClientFactory({ transports }).createFromUrl(url)
}

const part = (content: Part['content'], mediaType: string): Part => ({
  content,
  metadata: undefined,
  filename: '',
  mediaType,
})
export const text = (value: string): Part => part({ $case: 'text', value }, '')
export const data = (value: unknown): Part => part({ $case: 'data', value }, 'application/json')

export const message = (parts: Part[], place: { contextId?: string; taskId?: string } = {}): Message => ({
  messageId: randomUUID(),
  contextId: '',
  taskId: '',
  ...place,
  role: Role.ROLE_USER,
  parts,
  metadata: undefined,
  extensions: [],
  referenceTaskIds: [],
})

export const request = (sent: Message, returnImmediately = false) => ({
  tenant: '',
  message: sent,
  configuration: { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately },
  metadata: undefined,
})

export const partText = ({ content }: Part): string => (content?.$case === 'text' ? content.value : '')
export const answerOf = ({ artifacts }: Pick<Task, 'artifacts'>): string =>
  artifacts.map(({ parts }) => parts.map(partText).join('')).join('|')
export const dataOf = ({ status }: Task): unknown =>
  status?.message?.parts.find(({ content }) => content?.$case === 'data')?.content?.value

/** The task after a frame of a stream; null before the first frame, which is the task. */
export function applyFrame(task: Task | null, { payload }: StreamResponse): Task {
  if (payload?.$case === 'task') return structuredClone(payload.value)
  if (task === null) throw new Error('the stream does not begin with its task')
  if (payload?.$case === 'statusUpdate') task.status = payload.value.status
  if (payload?.$case !== 'artifactUpdate' || payload.value.artifact === undefined) return task
  const { artifact, append } = payload.value
  const known = task.artifacts.find(({ artifactId }) => artifactId === artifact.artifactId)
  if (known === undefined) task.artifacts.push(structuredClone(artifact))
  else if (!append) known.parts = artifact.parts
  else known.parts = [text([...known.parts, ...artifact.parts].map(partText).join(''))]
  return task
}

export function applyFrames(frames: readonly StreamResponse[]): Task {
  const task = frames.reduce<Task | null>(applyFrame, null)
  if (task === null) throw new Error('the stream is empty')
  return task
}

export const isWaiting = ({ status }: Task): boolean =>
  status?.state === TaskState.TASK_STATE_INPUT_REQUIRED ||
  status?.state === TaskState.TASK_STATE_AUTH_REQUIRED

/** The task is over, or its caller must act. */
export const isAtRest = (task: Task): boolean =>
  isWaiting(task) ||
  [TaskState.TASK_STATE_COMPLETED, TaskState.TASK_STATE_FAILED, TaskState.TASK_STATE_CANCELED].some(
    state => state === task.status?.state,
  )
