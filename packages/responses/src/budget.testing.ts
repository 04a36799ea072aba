import { Budget, BudgetExhausted } from './budget.ts';

/** Returns how many times an action can be repeated within one budget. Stops after `max` times. */
export const repeats = (action: (budget: Budget) => unknown, max: number): number => {
  const budget = new Budget();
  for (let count = 0; count < max; count++) {
    try {
      action(budget);
    } catch (error) {
      if (error instanceof BudgetExhausted) return count;
      throw error;
    }
  }
  return max;
};
