/**
 * Trajectories of the Agent Trajectory Interchange Format, versions 1.4 to 1.8. A subagent's trajectory is a
 * conversation of its own.
 */
import { callOf, createRecorded, type Recorded, type Reader } from './conversation.ts'
import { contentText, type Json, listOf, type Note, objectOf, textOf } from './values.ts'

export function readAtif(note: Note): Reader {
  const conversations: Recorded[] = []
  function read(document: Json, parent: string | undefined): void {
    const id = textOf(document['trajectory_id']) || textOf(document['session_id'])
    const version = textOf(objectOf(document['agent'])['version'])
    const conversation = createRecorded(
      {
        id,
        ...(version === '' ? {} : { tool_version: version }),
        ...(parent === undefined ? {} : { parent }),
      },
      note,
    )
    conversations.push(conversation)
    for (const step of listOf(document['steps']).map(objectOf)) readStep(conversation, step, note)
    for (const child of listOf(document['subagent_trajectories'])) read(objectOf(child), id)
  }
  return { record: value => read(objectOf(value), undefined), conversations: () => conversations }
}

function readStep(conversation: Recorded, step: Json, note: Note): void {
  const text = contentText(step['message'], note)
  const key = `step ${String(step['step_id'])}`
  if (textOf(step['reasoning_content']) !== '') note('reasoning')
  const results = listOf(objectOf(step['observation'])['results']).map(objectOf)
  if (step['source'] === 'agent') {
    const calls = listOf(step['tool_calls']).map(objectOf)
    conversation.answer(key, {
      text,
      calls: calls.map(call =>
        callOf(textOf(call['tool_call_id']), textOf(call['function_name']), call['arguments']),
      ),
    })
  } else conversation.user(step['source'] === 'system' ? `[system]\n${text}` : text)
  for (const result of results) {
    const content = contentText(result['content'], note)
    const call = textOf(result['source_call_id'])
    if (call === '') conversation.user(`[Observation]\n${content}`)
    else conversation.result(call, content)
  }
}
