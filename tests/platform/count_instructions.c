/* A plugin of qemu's user mode that counts the instructions a program runs.
 *
 *     qemu-aarch64 -plugin ./libcount_instructions.so,out=FILE PROGRAM
 *
 * FILE gets a line for each block of code that ran: its address in hexadecimal, its instructions,
 * and how often it ran. For programs with one thread: the counters are not locked. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is used here of the interface for plugins, version 1, which Debian ships without a header. */
typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_info_t;
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           void (*call)(qemu_plugin_id_t id,
                                                        struct qemu_plugin_tb *block));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *block, enum qemu_plugin_op op,
                                              void *number, uint64_t more);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*call)(qemu_plugin_id_t id, void *),
                                    void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *block);

struct counted {
    uint64_t address;
    uint64_t instructions;
    uint64_t runs;
    struct counted *next;
};

static struct counted *all_blocks;
static char *out_path;

static void add_block(qemu_plugin_id_t id, struct qemu_plugin_tb *block) {
    (void)id;
    struct counted *counted = calloc(1, sizeof *counted);
    if (counted == NULL) {
        fprintf(stderr, "count_instructions: no memory left\n");
        abort();
    }
    counted->address = qemu_plugin_tb_vaddr(block);
    counted->instructions = qemu_plugin_tb_n_insns(block);
    counted->next = all_blocks;
    all_blocks = counted;
    qemu_plugin_register_vcpu_tb_exec_inline(block, QEMU_PLUGIN_INLINE_ADD_U64, &counted->runs, 1);
}

static void write_counts(qemu_plugin_id_t id, void *unused) {
    (void)id;
    (void)unused;
    FILE *out = fopen(out_path, "w");
    for (struct counted *block = all_blocks; out != NULL && block != NULL; block = block->next) {
        if (block->runs != 0) {
            fprintf(out, "%" PRIx64 " %" PRIu64 " %" PRIu64 "\n", block->address,
                    block->instructions, block->runs);
        }
    }
    if (out == NULL || fclose(out) != 0) {
        fprintf(stderr, "count_instructions: %s cannot be written\n", out_path);
    }
}

#define EXPORTED __attribute__((visibility("default")))
EXPORTED int qemu_plugin_version = 1;

EXPORTED int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info_t *info, int argc,
                                 char **argv) {
    (void)info;
    for (int i = 0; i < argc; ++i) {
        if (strncmp(argv[i], "out=", 4) == 0) {
            out_path = strdup(argv[i] + 4);
        }
    }
    if (out_path == NULL) {
        fprintf(stderr, "count_instructions: expected out=FILE after the name of the plugin\n");
        return -1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, add_block);
    qemu_plugin_register_atexit_cb(id, write_counts, NULL);
    return 0;
}
