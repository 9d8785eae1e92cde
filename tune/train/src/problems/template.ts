/** The template of a problem, and the words that label its steps. */
import type { Random } from '../random.ts'
import { GOODS, PEOPLE, THINGS, countEn, countRo, type Noun, type Person, type Text } from './words.ts'

export type Operator = '+' | '-' | '*' | '/'
/** `unit` names what the result counts. */
export type CalculationStep = { label: Text; left: number; operator: Operator; right: number; unit: Noun }
export type ProblemDraft = Text & { steps: readonly CalculationStep[] }
export type Template = { id: string; draw: (cast: Cast) => ProblemDraft }

/** Random choices of a template. `between` and `counted` draw the numbers of the problem. */
export type Cast = {
  who: Person
  other: Person
  thing: Noun
  good: Noun
  between: (low: number, high: number) => number
  /** A number of something in both languages. */
  counted: (low: number, high: number, noun: Noun) => Counted
}
export type Counted = Text & { n: number }

/** A known number of something. */
export const count = (n: number, noun: Noun): Counted => ({ n, en: countEn(n, noun), ro: countRo(n, noun) })

export function drawCast(random: Random): Cast {
  const who = random.pick(PEOPLE)
  return {
    who,
    other: random.pick(PEOPLE.filter(person => person !== who)),
    thing: random.pick(THINGS),
    good: random.pick(GOODS),
    between: random.between,
    counted: (low, high, noun) => count(random.between(low, high), noun),
  }
}

export const step = (
  label: Text,
  left: number,
  operator: Operator,
  right: number,
  unit: Noun,
): CalculationStep => ({
  label,
  left,
  operator,
  right,
  unit,
})

/** The result of a step. Undefined for a division with a remainder. */
export function resultOf({ left, operator, right }: CalculationStep): number | undefined {
  switch (operator) {
    case '+':
      return left + right
    case '-':
      return left - right
    case '*':
      return left * right
    case '/':
      return right !== 0 && left % right === 0 ? left / right : undefined
  }
}

export const TOTAL: Text = { en: 'In total', ro: 'În total' }
export const NOW: Text = { en: 'Now', ro: 'Acum' }
export const LEFT: Text = { en: 'Left', ro: 'Rămân' }
export const EACH: Text = { en: 'Each', ro: 'Fiecare' }
export const COST: Text = { en: 'Cost', ro: 'Costă' }
export const FILLED: Text = { en: 'Filled', ro: 'Se umplu' }
export const NEEDED: Text = { en: 'Needed', ro: 'Sunt necesare' }
export const EARNED: Text = { en: 'Earned', ro: 'Câștig' }
export const SPENT: Text = { en: 'Spent', ro: 'Cheltuială' }
export const HALF: Text = { en: 'Half', ro: 'Jumătate' }
export const FIRST: Text = { en: 'First', ro: 'Mai întâi' }
export const SECOND: Text = { en: 'Second', ro: 'Apoi' }
export const TOGETHER: Text = { en: 'Together', ro: 'Împreună' }
/** The share of a person. */
export const of = ({ name }: Person): Text => ({ en: name, ro: name })
