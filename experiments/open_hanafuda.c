/* Lets another program play a seat of open-hanafuda-ai, and watch every decision of its engine.

   experiments/open_hanafuda.py compiles this file together with the engine. The compiler renames
   five calls inside the engine (see RENAMED there), so that they arrive at the functions whose
   names begin with "watched_". A seat of model OUTSIDE asks the callback what to do; any other
   seat asks the engine's own program and reports its choice to the callback.

   The callback returns the number of a card or, for EVENT_CALL, 1 for koi-koi. If it returns
   FAILED, the match ends at once. */

#include <setjmp.h>

#include "common.h"
#include "cards.h"
#include "ai.h"

void sim_metrics_reset(void);
void vgs_set_log_enabled(int enabled);

enum { EVENT_DEALT, EVENT_PLAY, EVENT_MATCH, EVENT_CALL, EVENT_OVER };
enum { NOTHING = -1, FAILED = -2, NO_CHOICE = -3, OUTSIDE = -1 };

/* Sets of cards are bit masks: card c of the engine is bit c. */
typedef struct {
    uint64_t hands[2], piles[2], field;
    int32_t stock[48], left;
    int32_t points[2], called[2], won[2], total[2];
    int32_t dealer, round;
} Table;

typedef int (*Watcher)(int event, int player, int card, int choice, const Table* table);

static Watcher watcher;
static const uint32_t* seeds;
static int outside[2];
static jmp_buf leave;

static uint64_t mask(const CardSet* set)
{
    uint64_t cards = 0;
    for (int n = 0; n < 48; n++) {
        if (set->cards[n]) {
            cards |= (uint64_t)1 << set->cards[n]->id;
        }
    }
    return cards;
}

static void look(Table* table)
{
    vgs_memset(table, 0, sizeof(*table));
    for (int i = 0; i < 2; i++) {
        table->hands[i] = mask(&g.own[i]);
        for (int kind = 0; kind < 4; kind++) {
            table->piles[i] |= mask(&g.invent[i][kind]);
        }
        table->points[i] = g.stats[i].score;
        table->called[i] = g.koikoi[i];
        table->won[i] = g.round_score[i][g.round];
        table->total[i] = g.total_score[i];
    }
    table->field = mask(&g.deck);
    table->left = g.floor.num;
    for (int n = 0; n < g.floor.num; n++) {
        table->stock[n] = g.floor.cards[g.floor.start + n]->id;
    }
    table->dealer = g.oya;
    table->round = g.round;
}

static int tell(int event, int player, int card, int choice)
{
    Table table;
    look(&table);
    int answer = watcher(event, player, card, choice, &table);
    if (answer == FAILED) {
        longjmp(leave, 1);
    }
    return answer;
}

void watched_reset_cards(void)
{
    vgs_srand(seeds[1 + g.round]);
    reset_cards();
    tell(EVENT_DEALT, NOTHING, NOTHING, NOTHING);
}

int watched_ai_drop(int player)
{
    int choice = NOTHING;
    if (!outside[player]) {
        int n = ai_drop(player);
        int legal = 0 <= n && n < g.own[player].num && g.own[player].cards[n];
        choice = legal ? g.own[player].cards[n]->id : NO_CHOICE;
    }
    int card = tell(EVENT_PLAY, player, NOTHING, choice);
    for (int n = 0; n < g.own[player].num; n++) {
        if (g.own[player].cards[n]->id == card) {
            return n;
        }
    }
    longjmp(leave, 1);
}

int watched_ai_select(int player, Card* open)
{
    int choice = NOTHING;
    if (!outside[player]) {
        int n = ai_select(player, open);
        int legal = 0 <= n && n < 48 && g.deck.cards[n];
        choice = legal ? g.deck.cards[n]->id : NO_CHOICE;
    }
    int card = tell(EVENT_MATCH, player, open->id, choice);
    for (int n = 0; n < 48; n++) {
        if (g.deck.cards[n] && g.deck.cards[n]->id == card) {
            return n;
        }
    }
    longjmp(leave, 1);
}

int watched_ai_koikoi(int player, int points)
{
    if (!is_koikoi_enabled(player)) {
        return OFF;
    }
    int choice = outside[player] ? NOTHING : !!ai_koikoi(player, points);
    return tell(EVENT_CALL, player, NOTHING, choice) ? ON : OFF;
}

int watched_show_result(int player)
{
    int goes_on = show_result(player);
    if (!goes_on) {
        tell(EVENT_OVER, player, NOTHING, NOTHING);
    }
    return goes_on;
}

/* Play a match; return whether it came to its end. `deals` holds a seed for the match and one
   for the deal of each round. */
int play_match(int first, int second, int rounds, const uint32_t* deals, Watcher watching)
{
    vgs_set_log_enabled(OFF);
    sim_metrics_reset();
    ai_debug_metrics_reset();
    vgs_memset(&g, 0, sizeof(g));
    g_no_sake_latched = OFF;
    g.auto_play = ON;
    outside[0] = first == OUTSIDE;
    outside[1] = second == OUTSIDE;
    g.ai_model[0] = outside[0] ? AI_MODEL_NORMAL : first;
    g.ai_model[1] = outside[1] ? AI_MODEL_NORMAL : second;
    seeds = deals;
    watcher = watching;
    if (setjmp(leave)) {
        return OFF;
    }
    ai_debug_set_run_context((int)seeds[0], 0);
    vgs_srand(seeds[0]);
    game(rounds);
    return ON;
}
