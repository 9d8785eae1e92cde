/** The model's answers in the kill tests. `history.ts` reads the labels that the commands write. */
const append = (step: number): object => ({
  name: 'terminal',
  arguments: { command: `echo {{user.1}}.${step} >> executions.txt` },
})

/**
 * Four commands that each write their label once, with text between them, and a read-only call beside one of
 * them. `pace_ms`: milliseconds between chunks.
 */
export const fourCommands = (pace_ms: number) => ({
  pace_ms,
  chunk_chars: 12,
  rules: [
    {
      when: { user: '^job (\\S+)$' },
      steps: [
        { text: 'I begin with the first step.', tool_calls: [append(1)] },
        { reasoning: 'Two at once, to see their order.', tool_calls: [append(2), append(3)] },
        {
          text: 'A look around, and the last step.',
          tool_calls: [{ name: 'list_files', arguments: { path: '.' } }, append(4)],
        },
        { text: 'All four steps are done.' },
      ],
    },
    { answer: { text: 'Nothing to do.' } },
  ],
})
