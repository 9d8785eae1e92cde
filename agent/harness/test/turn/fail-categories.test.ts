/** session.fail contains the category of the failure and whether a retry can help (contract 6, 7). */
import { expect, test } from 'vitest'
import { setStage } from './stage.ts'

test.each([
  ['rate_limit', true, { error: { status: 429, message: 'too many' } }],
  ['provider_error', true, { error: { status: 500, message: 'broken' } }],
  ['auth_failed', false, { error: { status: 401, message: 'who are you' } }],
  [
    'context_overflow',
    false,
    { error: { status: 400, message: 'too long', code: 'context_length_exceeded' } },
  ],
  ['network', true, { text: 'half an', cut_off: true as const }],
  ['empty_response', true, { empty: true as const }],
] as const)(
  'a model server that fails with %s fails the session with this category (retryable: %s)',
  async (error_category, retryable, answer) => {
    await using stage = await setStage({ scenario: { rules: [{ answer }] } })
    stage.start()
    await stage.send('go')
    expect((await stage.next('session.fail')).data).toMatchObject({
      error_category,
      retryable,
      reason: expect.any(String),
      error: expect.any(String),
    })
    expect(await stage.session()).toMatchObject({ status: 'failed', lease: null })
  },
)
