/** A model that plans, asks for approvals, asks questions and hangs, for the tests of compatible APIs. */
export const ASK = {
  questions: [{ prompt: 'Which colour?', choices: [{ label: 'red' }, { label: 'blue' }] }],
}
const ACTION = { title: 'Log in', instructions: 'Log in at the site.', reason: 'I cannot.' }
export const SCENARIO = {
  rules: [
    { when: { user: 'person rejected' }, answer: { text: 'Then I leave it.' } },
    { when: { user: 'person approved', step: 0 }, answer: { tool_calls: [{ repeat: 'terminal' }] } },
    { when: { tool: 'terminal', result: 'policy_blocked' }, answer: { text: 'I asked for approval.' } },
    { when: { tool: 'terminal' }, answer: { text: 'It said what it said.' } },
    { when: { result: 'red' }, answer: { text: 'Red it is.' } },
    {
      when: { tool: 'todo' },
      answer: { reasoning: 'The plan is there.', text: 'Planned, in words. '.repeat(20), chunk_chars: 7 },
    },
    {
      when: { user: 'run' },
      answer: { text: 'Running it.', tool_calls: [{ name: 'terminal', arguments: { command: 'echo hi' } }] },
    },
    { when: { user: 'paint' }, answer: { tool_calls: [{ name: 'ask_user_question', arguments: ASK }] } },
    { when: { user: 'user says that this is done' }, answer: { text: 'Thank you.' } },
    {
      when: { user: 'log in' },
      answer: { tool_calls: [{ name: 'request_user_action', arguments: ACTION }] },
    },
    { when: { user: 'break' }, answer: { error: { status: 400, message: 'the model is broken' } } },
    { when: { user: 'hang' }, answer: { text: 'Half of ', hang: true } },
    {
      when: { user: 'plan' },
      answer: {
        reasoning: 'Think first.',
        text: 'I plan.',
        tool_calls: [
          { name: 'todo', arguments: { todos: [{ id: '1', content: 'one', status: 'pending' }] } },
        ],
      },
    },
    { answer: { text: 'Hello there.' } },
  ],
}
export const CONFIG = { agents: { assistant: { governance: { require_approval: ['terminal'] } } } }
