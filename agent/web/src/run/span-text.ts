/** The words of a row: what the step is, its chip, and the sentence that a screen reader speaks. Pure. */
import {
  endOf,
  hasFlag,
  isOpen,
  kindOf,
  type SpanRow,
  type Spans,
  type ToolIcon,
  toolWords,
} from '@cairn/state'
import { formatDuration, formatSpent } from '../format.ts'
import type { Chip } from '../tools/tool-line.ts'
import { chatWords } from '../words/chat.ts'
import { runWords } from '../words/run.ts'
import { toolsWords } from '../words/tools.ts'

export type RowIcon = ToolIcon | 'model' | 'approval' | 'pause' | 'gap' | 'turn'
export type RowText = {
  icon: RowIcon
  verb: string
  object: string
  /** The object is code, such as a command or a path. */
  isCode: boolean
}

const SYNTHETIC: Readonly<Record<string, string>> = chatWords.synthetic

/** `number` is that of a turn, from 1. */
export function textOfRow(spans: Spans, { span, last, count }: SpanRow, number: number): RowText {
  const name = spans.names[span] ?? ''
  const object = spans.objects[span] ?? ''
  switch (kindOf(spans, span)) {
    case 'turn':
      return {
        icon: 'turn',
        verb: hasFlag(spans, span, 'review') ? runWords.reviewTurn(number) : runWords.turn(number),
        object: name === '' ? object : (SYNTHETIC[name] ?? name.replaceAll('_', ' ')),
        isCode: false,
      }
    case 'model':
      return { icon: 'model', ...modelText(name, object), isCode: true }
    case 'worker':
      return { icon: 'worker', verb: runWords.worker, object, isCode: false }
    case 'wait':
      return waitText(name, object)
    case 'gap': {
      const ms = (spans.to[span] ?? 0) - (spans.from[span] ?? 0)
      const text = runWords.recovered(formatDuration(ms))
      return { icon: 'gap', verb: runWords.noRunner, object: text, isCode: false }
    }
    default: {
      const { verb, icon, group } = toolWords(name, {})
      if (count === 1 || group === null) return { icon, verb, object, isCode: true }
      const objects = new Set<string>()
      for (let call = span; call <= last; call++) objects.add(spans.objects[call] ?? '')
      const title = group.title(group.counts === 'objects' ? objects.size : count)
      return { icon, verb: title, object: [...objects].slice(0, 3).join(', '), isCode: true }
    }
  }
}

function modelText(name: string, object: string): { verb: string; object: string } {
  if (name === 'advisor') return { verb: runWords.advisor, object }
  if (name === 'evaluation') return { verb: runWords.evaluator, object }
  return { verb: runWords.model, object: name }
}

function waitText(name: string, object: string): RowText {
  if (name === 'pause') return { icon: 'pause', verb: runWords.paused, object: '', isCode: false }
  if (name === 'ask_user_question')
    return { icon: 'question', verb: runWords.question, object, isCode: false }
  if (name === 'request_user_action') return { icon: 'hand', verb: runWords.action, object, isCode: false }
  const { verb } = toolWords(name, {})
  return object === ''
    ? { icon: 'approval', verb: runWords.approval, object: verb, isCode: false }
    : { icon: 'approval', verb: runWords.approval, object, isCode: true }
}

/** The chips behind a bar; good outcomes have none. */
export function chipsOf(spans: Spans, { span, last, count }: SpanRow): Chip[] {
  if (count > 1) return chipsOfGroup(spans, span, last)
  const kind = kindOf(spans, span)
  if (kind === 'turn' || kind === 'wait' || kind === 'gap') return []
  const { exit, status } = spans.facts.get(span) ?? {}
  const isFailed = hasFlag(spans, span, 'failed')
  if (exit !== undefined && exit !== 0) return [{ tone: 'bad', text: toolsWords.exit(exit) }]
  if (status !== undefined && status >= 400)
    return [{ tone: status >= 500 ? 'bad' : 'warn', text: String(status) }]
  if (hasFlag(spans, span, 'missed')) return [{ tone: 'warn', text: runWords.chips.notFound }]
  if (isFailed) return [{ tone: 'bad', text: runWords.chips.failed }]
  return hasFlag(spans, span, 'interrupted') ? [{ tone: 'quiet', text: runWords.chips.interrupted }] : []
}

function chipsOfGroup(spans: Spans, first: number, last: number): Chip[] {
  let missed = 0
  let failed = 0
  for (let call = first; call <= last; call++) {
    if (hasFlag(spans, call, 'missed')) missed += 1
    if (hasFlag(spans, call, 'failed')) failed += 1
  }
  const { many, notFound, failed: word } = runWords.chips
  return [
    ...(missed > 0 ? [{ tone: 'warn' as const, text: many(missed, notFound) }] : []),
    ...(failed > 0 ? [{ tone: 'bad' as const, text: many(failed, word) }] : []),
  ]
}

/** What is written behind a bar besides chips: the cost of a worker, the length of a wait. */
export function noteOf(spans: Spans, span: number, now: number): string {
  switch (kindOf(spans, span)) {
    case 'worker': {
      const cost = spans.facts.get(span)?.cost_usd
      return cost === undefined ? '' : formatSpent(cost, false)
    }
    case 'wait':
      return isOpen(spans, span)
        ? runWords.waiting
        : runWords.waited(formatDuration(endOf(spans, span, now) - (spans.from[span] ?? 0)))
    case 'gap':
      return runWords.recovered(formatDuration(endOf(spans, span, now) - (spans.from[span] ?? 0)))
    default:
      return ''
  }
}

/** A duration in words: "31 seconds", "1 minute 31". */
export function spokenDuration(ms: number): string {
  if (ms < 1000) return runWords.milliseconds(Math.round(ms))
  const seconds = Math.round(ms / 1000)
  if (seconds < 60) return runWords.seconds(seconds)
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return runWords.minutes(minutes) + (seconds % 60 === 0 ? '' : ` ${seconds % 60}`)
  return runWords.hours(Math.floor(minutes / 60)) + (minutes % 60 === 0 ? '' : ` ${minutes % 60}`)
}

type Said = { durationMs: number; elapsedMs: number }

/** "Run npm test, failed, exit 3, 31 seconds, starts at 1 minute 31". */
export function sentenceOf(spans: Spans, row: SpanRow, text: RowText, said: Said): string {
  const { span } = row
  const chips = chipsOf(spans, row).map(chip => chip.text)
  const isFailed = hasFlag(spans, span, 'failed') && row.count === 1
  return runWords.sentence([
    [text.verb, text.object].filter(part => part !== '').join(' '),
    isFailed && !chips.includes(runWords.chips.failed) ? runWords.chips.failed : '',
    ...chips,
    row.count > 1 ? runWords.calls(row.count) : '',
    hasFlag(spans, span, 'approved') ? runWords.approvedBy : '',
    hasFlag(spans, span, 'rejected') ? runWords.rejectedBy : '',
    isOpen(spans, span) ? runWords.running : spokenDuration(said.durationMs),
    runWords.startsAt(spokenDuration(said.elapsedMs)),
  ])
}
