/** A question of the agent, answered here with a choice or free text. */
import { memo } from 'react'
import { visibleText } from '@cairn/protocol'
import { HelpIcon } from '../ui/icons.tsx'
import type { ItemOf } from './chat-item.ts'
import { QuestionForm } from './question-form.tsx'
import { chatWords } from '../words/chat.ts'

export const QuestionCard = memo(function QuestionCard({
  sessionId,
  item,
}: {
  sessionId: string
  item: ItemOf<'question'>
}) {
  const state = item.responses !== null ? 'answered' : item.cancelled ? 'cancelled' : 'open'
  return (
    <section
      className="card question"
      aria-label={chatWords.question}
      data-testid="question-card"
      data-state={state}
      data-call={item.tool_call_id}
    >
      <header className="card-head">
        <HelpIcon />
        <h2>
          {state === 'open'
            ? chatWords.question
            : state === 'answered'
              ? chatWords.answered
              : chatWords.skipped}
        </h2>
      </header>
      <div className="card-body">
        {item.context !== null && <p className="muted">{visibleText(item.context)}</p>}
        {state === 'open' ? (
          <QuestionForm sessionId={sessionId} callId={item.tool_call_id} questions={item.questions} />
        ) : (
          <dl className="answers">
            {item.questions.map(question => (
              <div key={question.prompt}>
                <dt>{visibleText(question.prompt)}</dt>
                <dd>
                  {visibleText(
                    item.responses?.find(response => response.question === question.prompt)?.answer ??
                      chatWords.noAnswer,
                  )}
                </dd>
              </div>
            ))}
          </dl>
        )}
      </div>
    </section>
  )
})
