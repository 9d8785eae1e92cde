/**
 * ask_user_question: ends the turn until a person has answered; `call-tool.ts` creates the inbox item from
 * the content.
 */
import { Question } from '@cairn/protocol'
import { z } from 'zod'
import { defineTool } from './parameters.ts'

export const askUserQuestionTool = defineTool({
  name: 'ask_user_question',
  description:
    'Ask the user one to five questions and wait for the answers. Offer choices where you can. Use it only ' +
    'when you cannot reasonably continue without an answer.',
  parameters: z.strictObject({
    questions: z
      .array(
        Question.extend({
          prompt: z.string().min(1),
          choices: z.array(Question.shape.choices.unwrap().element).max(6).optional(),
        }),
      )
      .min(1)
      .max(5),
    context: z.string().optional().describe('what the user needs to know to answer'),
  }),
  readOnly: false,
  changesSessionOnly: true,
  // Nothing is asked before the inbox item is on disk; after that the call counts as answered or waiting.
  idempotent: true,
  run: ({ questions, context }) =>
    Promise.resolve({
      content: { questions, ...(context === undefined ? {} : { context }) },
      suspend: 'person',
    }),
})
