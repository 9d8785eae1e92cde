/** Problems of one step. */
import { EACH, EARNED, FILLED, LEFT, NOW, TOTAL, count, of, step, type Template } from './template.ts'
import {
  BAG,
  BOX,
  CHAIR,
  DAY,
  FRIEND,
  KILOMETER,
  MONEY,
  PAGE,
  PASSENGER,
  ROW,
  TIMES,
  howMany,
  moreRo,
} from './words.ts'

export const ONE_STEP: readonly Template[] = [
  {
    id: 'gift',
    draw: ({ who, other, thing, counted }) => {
      const [a, b] = [counted(12, 180, thing), counted(5, 90, thing)]
      return {
        en:
          `${who.name} has ${a.en}. ${other.name} gives ${who.name} ${b.en} more. ` +
          `${howMany(thing).en} does ${who.name} have now?`,
        ro:
          `${who.name} are ${a.ro}. ${other.name} îi mai dă ${b.ro}. ${howMany(thing).ro} are ` +
          `${who.name} acum?`,
        steps: [step(NOW, a.n, '+', b.n, thing)],
      }
    },
  },
  {
    id: 'give-away',
    draw: ({ who, other, thing, counted }) => {
      const a = counted(30, 200, thing)
      const b = counted(5, a.n - 5, thing)
      return {
        en:
          `${who.name} has ${a.en} and gives ${b.en} to ${other.name}. ${howMany(thing).en} does ` +
          `${who.name} have left?`,
        ro:
          `${who.name} are ${a.ro} și îi dă ${other.dative} ${b.ro}. ${howMany(thing).ro} mai are ` +
          `${who.name}?`,
        steps: [step(LEFT, a.n, '-', b.n, thing)],
      }
    },
  },
  {
    id: 'boxes',
    draw: ({ thing, counted }) => {
      const [a, b] = [counted(3, 30, BOX), counted(4, 30, thing)]
      return {
        en:
          `There are ${a.en} in a shop, and each box holds ${b.en}. ${howMany(thing).en} are there in ` +
          'total?',
        ro:
          `Într-un magazin sunt ${a.ro}, iar în fiecare cutie sunt ${b.ro}. ${howMany(thing).ro} sunt ` +
          'în total?',
        steps: [step(TOTAL, a.n, '*', b.n, thing)],
      }
    },
  },
  {
    id: 'share',
    draw: ({ who, thing, counted, between }) => {
      const b = counted(3, 25, FRIEND)
      const a = count(b.n * between(3, 30), thing)
      return {
        en: `${who.name} shares ${a.en} equally among ${b.en}. ${howMany(thing).en} does each friend get?`,
        ro:
          `${who.name} împarte ${a.ro} în mod egal la ${b.ro}. ${howMany(thing).ro} primește fiecare ` +
          'prieten?',
        steps: [step(EACH, a.n, '/', b.n, thing)],
      }
    },
  },
  {
    id: 'wage',
    draw: ({ who, counted }) => {
      const [a, b] = [counted(15, 95, MONEY), counted(3, 30, DAY)]
      return {
        en: `${who.name} earns ${a.en} a day. ${howMany(MONEY).en} does ${who.name} earn in ${b.en}?`,
        ro: `${who.name} câștigă ${a.ro} pe zi. ${howMany(MONEY).ro} câștigă ${who.name} în ${b.ro}?`,
        steps: [step(EARNED, a.n, '*', b.n, MONEY)],
      }
    },
  },
  {
    id: 'pages-left',
    draw: ({ who, counted }) => {
      const a = counted(90, 600, PAGE)
      const b = counted(20, a.n - 10, PAGE)
      return {
        en: `A book has ${a.en}. ${who.name} has read ${b.en}. ${howMany(PAGE).en} are left to read?`,
        ro: `O carte are ${a.ro}. ${who.name} a citit ${b.ro}. ${howMany(PAGE).ro} mai sunt de citit?`,
        steps: [step(LEFT, a.n, '-', b.n, PAGE)],
      }
    },
  },
  {
    id: 'train-ride',
    draw: ({ counted }) => {
      const [a, b] = [counted(40, 400, KILOMETER), counted(40, 400, KILOMETER)]
      return {
        en:
          `A train travels ${a.en} before noon and ${b.en} after noon. ${howMany(KILOMETER).en} does ` +
          'it travel in total?',
        ro:
          `Un tren parcurge ${a.ro} înainte de prânz și ${b.ro} după prânz. ${howMany(KILOMETER).ro} ` +
          'parcurge în total?',
        steps: [step(TOTAL, a.n, '+', b.n, KILOMETER)],
      }
    },
  },
  {
    id: 'fewer',
    draw: ({ who, other, thing, counted }) => {
      const a = counted(25, 200, thing)
      const b = counted(3, a.n - 5, thing)
      return {
        en:
          `${who.name} collected ${a.en}. ${other.name} collected ${b.en} fewer than ${who.name}. ` +
          `${howMany(thing).en} did ${other.name} collect?`,
        ro:
          `${who.name} a strâns ${a.ro}. ${other.name} a strâns cu ${b.ro} mai puțin decât ` +
          `${who.name}. ${howMany(thing).ro} a strâns ${other.name}?`,
        steps: [step(of(other), a.n, '-', b.n, thing)],
      }
    },
  },
  {
    id: 'times-as-many',
    draw: ({ who, other, thing, counted }) => {
      const [a, b] = [counted(6, 120, thing), counted(2, 9, TIMES)]
      return {
        en:
          `${who.name} has ${a.en}. ${other.name} has ${b.en} as many. ${howMany(thing).en} does ` +
          `${other.name} have?`,
        ro:
          `${who.name} are ${a.ro}. ${other.name} are de ${b.ro} ${moreRo(thing)} decât ${who.name}. ` +
          `${howMany(thing).ro} are ${other.name}?`,
        steps: [step(of(other), a.n, '*', b.n, thing)],
      }
    },
  },
  {
    id: 'hall',
    draw: ({ counted }) => {
      const [a, b] = [counted(5, 40, ROW), counted(6, 40, CHAIR)]
      return {
        en: `A hall has ${a.en} with ${b.en} in each row. ${howMany(CHAIR).en} are in the hall?`,
        ro: `O sală are ${a.ro}, cu câte ${b.ro} pe fiecare rând. ${howMany(CHAIR).ro} sunt în sală?`,
        steps: [step(TOTAL, a.n, '*', b.n, CHAIR)],
      }
    },
  },
  {
    id: 'bags',
    draw: ({ who, thing, counted, between }) => {
      const b = counted(3, 25, thing)
      const a = count(b.n * between(3, 30), thing)
      return {
        en:
          `${who.name} packs ${a.en} into bags, with ${b.en} in each bag. ${howMany(BAG).en} does ` +
          `${who.name} fill?`,
        ro:
          `${who.name} pune ${a.ro} în pungi, câte ${b.ro} în fiecare pungă. ${howMany(BAG).ro} umple ` +
          `${who.name}?`,
        steps: [step(FILLED, a.n, '/', b.n, BAG)],
      }
    },
  },
  {
    id: 'train-stop',
    draw: ({ counted }) => {
      const a = counted(60, 500, PASSENGER)
      const b = counted(8, a.n - 10, PASSENGER)
      return {
        en:
          `There are ${a.en} on a train. At the first stop ${b.en} get off. ${howMany(PASSENGER).en} ` +
          'stay on the train?',
        ro:
          `Într-un tren sunt ${a.ro}. La prima stație coboară ${b.ro}. ${howMany(PASSENGER).ro} rămân ` +
          'în tren?',
        steps: [step(LEFT, a.n, '-', b.n, PASSENGER)],
      }
    },
  },
]
