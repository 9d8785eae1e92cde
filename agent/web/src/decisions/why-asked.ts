/** Why a call waits for a person: the words of the rule, where they say more than that it asks. */
export const whyAsked = (denyReason: string): string =>
  /^tool '[^']*' requires human approval/.test(denyReason) ? 'The policy asks for a person here.' : denyReason
