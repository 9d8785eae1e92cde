/** Problems of two steps. */
import {
  COST,
  EACH,
  EARNED,
  HALF,
  LEFT,
  NOW,
  TOGETHER,
  TOTAL,
  count,
  of,
  step,
  type Template,
} from './template.ts'
import {
  BOX,
  DAY,
  EGG,
  FRIEND,
  HEN,
  METER,
  MONEY,
  PAGE,
  PASSENGER,
  PIECE,
  POINT,
  ROUND,
  ROW,
  TIMES,
  TREE,
  WEEK,
  howMany,
  moreRo,
} from './words.ts'

export const TWO_STEPS: readonly Template[] = [
  {
    id: 'change',
    draw: ({ who, good, counted }) => {
      const [m, b, c] = [counted(60, 500, MONEY), counted(2, 12, good), counted(3, 35, MONEY)]
      return {
        en: `${who.name} has ${m.en} and buys ${b.en} at ${c.en} each. ${howMany(MONEY).en} are left?`,
        ro: `${who.name} are ${m.ro} și cumpără ${b.ro}, cu ${c.ro} bucata. ${howMany(MONEY).ro} îi rămân?`,
        steps: [step(COST, b.n, '*', c.n, MONEY), step(LEFT, m.n, '-', b.n * c.n, MONEY)],
      }
    },
  },
  {
    id: 'boxes-given',
    draw: ({ who, other, thing, counted }) => {
      const [a, b, c] = [counted(3, 15, BOX), counted(6, 25, thing), counted(5, 80, thing)]
      return {
        en:
          `${who.name} has ${a.en} with ${b.en} in each box. ${who.name} gives ${c.en} to ` +
          `${other.name}. ${howMany(thing).en} are left?`,
        ro:
          `${who.name} are ${a.ro} cu câte ${b.ro} în fiecare cutie. Îi dă ${other.dative} ${c.ro}. ` +
          `${howMany(thing).ro} îi rămân?`,
        steps: [step(TOTAL, a.n, '*', b.n, thing), step(LEFT, a.n * b.n, '-', c.n, thing)],
      }
    },
  },
  {
    id: 'basket-and-price',
    draw: ({ who, good, counted }) => {
      const [b, c, d] = [counted(3, 20, good), counted(4, 40, MONEY), counted(5, 90, MONEY)]
      return {
        en:
          `${who.name} buys ${b.en} at ${c.en} each and a bag for ${d.en}. ${howMany(MONEY).en} does ` +
          `${who.name} pay?`,
        ro:
          `${who.name} cumpără ${b.ro}, cu ${c.ro} bucata, și o geantă de ${d.ro}. ` +
          `${howMany(MONEY).ro} plătește ${who.name}?`,
        steps: [step(COST, b.n, '*', c.n, MONEY), step(TOTAL, b.n * c.n, '+', d.n, MONEY)],
      }
    },
  },
  {
    id: 'pool-and-share',
    draw: ({ who, other, thing, counted }) => {
      const [a, b, c] = [counted(20, 150, thing), counted(20, 150, thing), counted(3, 12, FRIEND)]
      return {
        en:
          `${who.name} has ${a.en} and ${other.name} has ${b.en}. They share them all equally among ` +
          `${c.en}. ${howMany(thing).en} does each friend get?`,
        ro:
          `${who.name} are ${a.ro}, iar ${other.name} are ${b.ro}. Împart totul în mod egal la ` +
          `${c.ro}. ${howMany(thing).ro} primește fiecare prieten?`,
        steps: [step(TOTAL, a.n, '+', b.n, thing), step(EACH, a.n + b.n, '/', c.n, thing)],
      }
    },
  },
  {
    id: 'reading-plan',
    draw: ({ who, counted }) => {
      const [a, b, c] = [counted(8, 45, PAGE), counted(3, 14, DAY), counted(150, 700, PAGE)]
      return {
        en:
          `${who.name} reads ${a.en} a day from a book with ${c.en}. ${howMany(PAGE).en} are left ` +
          `after ${b.en}?`,
        ro:
          `${who.name} citește ${a.ro} pe zi dintr-o carte cu ${c.ro}. ${howMany(PAGE).ro} mai rămân ` +
          `după ${b.ro}?`,
        steps: [step(TOTAL, a.n, '*', b.n, PAGE), step(LEFT, c.n, '-', a.n * b.n, PAGE)],
      }
    },
  },
  {
    id: 'more-together',
    draw: ({ who, other, thing, counted }) => {
      const [a, b] = [counted(15, 180, thing), counted(4, 90, thing)]
      return {
        en:
          `${who.name} collects ${a.en}. ${other.name} collects ${b.en} more than ${who.name}. ` +
          `${howMany(thing).en} do they collect together?`,
        ro:
          `${who.name} strânge ${a.ro}. ${other.name} strânge cu ${b.ro} mai mult decât ${who.name}. ` +
          `${howMany(thing).ro} strâng împreună?`,
        steps: [step(of(other), a.n, '+', b.n, thing), step(TOGETHER, a.n, '+', a.n + b.n, thing)],
      }
    },
  },
  {
    id: 'times-together',
    draw: ({ who, other, thing, counted }) => {
      const [a, b] = [counted(8, 110, thing), counted(2, 7, TIMES)]
      return {
        en:
          `${who.name} has ${a.en}. ${other.name} has ${b.en} as many. ${howMany(thing).en} do they ` +
          'have together?',
        ro:
          `${who.name} are ${a.ro}. ${other.name} are de ${b.ro} ${moreRo(thing)} decât ${who.name}. ` +
          `${howMany(thing).ro} au împreună?`,
        steps: [step(of(other), a.n, '*', b.n, thing), step(TOGETHER, a.n, '+', a.n * b.n, thing)],
      }
    },
  },
  {
    id: 'off-and-on',
    draw: ({ counted }) => {
      const [a, b, c] = [counted(60, 400, PASSENGER), counted(8, 55, PASSENGER), counted(8, 90, PASSENGER)]
      return {
        en:
          `A train leaves with ${a.en}. At a station ${b.en} get off and ${c.en} get on. ` +
          `${howMany(PASSENGER).en} are on the train now?`,
        ro:
          `Un tren pleacă cu ${a.ro}. Într-o gară coboară ${b.ro} și urcă ${c.ro}. ` +
          `${howMany(PASSENGER).ro} sunt acum în tren?`,
        steps: [step(LEFT, a.n, '-', b.n, PASSENGER), step(NOW, a.n - b.n, '+', c.n, PASSENGER)],
      }
    },
  },
  {
    id: 'eggs-sold',
    draw: ({ who, counted }) => {
      const [a, b, c] = [counted(6, 45, HEN), counted(4, 20, EGG), counted(10, 300, EGG)]
      return {
        en:
          `${who.name} keeps ${a.en}. Each hen lays ${b.en} a month. ${who.name} sells ${c.en}. ` +
          `${howMany(EGG).en} are left?`,
        ro:
          `${who.name} crește ${a.ro}. Fiecare găină face ${b.ro} pe lună. ${who.name} vinde ${c.ro}. ` +
          `${howMany(EGG).ro} îi rămân?`,
        steps: [step(TOTAL, a.n, '*', b.n, EGG), step(LEFT, a.n * b.n, '-', c.n, EGG)],
      }
    },
  },
  {
    id: 'half-and-more',
    draw: ({ who, other, thing, between, counted }) => {
      const a = count(2 * between(20, 200), thing)
      const b = counted(4, 60, thing)
      return {
        en:
          `${who.name} has ${a.en}. ${who.name} keeps half of them and then gives ${b.en} from that ` +
          `half to ${other.name}. ${howMany(thing).en} does ${who.name} have left?`,
        ro:
          `${who.name} are ${a.ro}. Păstrează jumătate, apoi îi dă ${other.dative} ${b.ro} din ` +
          `această jumătate. ${howMany(thing).ro} îi rămân?`,
        steps: [step(HALF, a.n, '/', 2, thing), step(LEFT, a.n / 2, '-', b.n, thing)],
      }
    },
  },
  {
    id: 'rope',
    draw: ({ counted }) => {
      const [a, b, c] = [counted(40, 300, METER), counted(5, 60, METER), counted(3, 12, PIECE)]
      return {
        en:
          `A rope is ${a.en} long. A part of ${b.en} is cut off, and the rest is cut into ${c.en} of ` +
          `equal length. ${howMany(METER).en} long is each piece?`,
        ro:
          `O frânghie are ${a.ro}. Se taie o parte de ${b.ro}, iar restul se taie în ${c.ro} egale. ` +
          `${howMany(METER).ro} are fiecare bucată?`,
        steps: [step(LEFT, a.n, '-', b.n, METER), step(EACH, a.n - b.n, '/', c.n, METER)],
      }
    },
  },
  {
    id: 'pocket-money',
    draw: ({ who, counted }) => {
      const [a, b, c] = [counted(12, 60, MONEY), counted(4, 20, WEEK), counted(20, 300, MONEY)]
      return {
        en:
          `${who.name} saves ${a.en} a week for ${b.en} and then spends ${c.en}. ${howMany(MONEY).en} ` +
          'are left?',
        ro:
          `${who.name} economisește ${a.ro} pe săptămână timp de ${b.ro}, apoi cheltuiește ${c.ro}. ` +
          `${howMany(MONEY).ro} îi rămân?`,
        steps: [step(EARNED, a.n, '*', b.n, MONEY), step(LEFT, a.n * b.n, '-', c.n, MONEY)],
      }
    },
  },
  {
    id: 'orchard',
    draw: ({ counted }) => {
      const [a, b, c] = [counted(5, 30, ROW), counted(6, 30, TREE), counted(4, 60, TREE)]
      return {
        en:
          `An orchard has ${a.en} with ${b.en} in each row. A storm breaks ${c.en}. ` +
          `${howMany(TREE).en} are left standing?`,
        ro:
          `O livadă are ${a.ro} cu câte ${b.ro} pe fiecare rând. O furtună rupe ${c.ro}. ` +
          `${howMany(TREE).ro} rămân în picioare?`,
        steps: [step(TOTAL, a.n, '*', b.n, TREE), step(LEFT, a.n * b.n, '-', c.n, TREE)],
      }
    },
  },
  {
    id: 'score',
    draw: ({ who, counted }) => {
      const [a, b, c] = [counted(3, 20, ROUND), counted(5, 40, POINT), counted(10, 99, POINT)]
      return {
        en:
          `${who.name} wins ${a.en} of a game, scoring ${b.en} in each, and gets a bonus of ${c.en}. ` +
          `${howMany(POINT).en} does ${who.name} have in total?`,
        ro:
          `${who.name} câștigă ${a.ro} ale unui joc, obținând câte ${b.ro} în fiecare, și primește în ` +
          `plus ${c.ro}. ${howMany(POINT).ro} are ${who.name} în total?`,
        steps: [step(EARNED, a.n, '*', b.n, POINT), step(TOTAL, a.n * b.n, '+', c.n, POINT)],
      }
    },
  },
]
