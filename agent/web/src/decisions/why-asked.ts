/** Why a call waits for a person: the words of the rule, where they say more than that it asks. */
import { chatWords } from '../words/chat.ts'
export const whyAsked = (denyReason: string): string =>
  /^tool '[^']*' requires human approval/.test(denyReason) ? chatWords.needsYourApproval : denyReason
