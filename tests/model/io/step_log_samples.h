// Short logs of trainers in the layouts that the tools print, with invented figures.
#pragma once
#include <array>
#include <string_view>

namespace stepsight::samples {

inline constexpr std::string_view hf_trainer = R"(***** Running training *****
  Num examples = 39,842
  Num Epochs = 1
  Instantaneous batch size per device = 4
  Total train batch size (w. parallel, distributed & accumulation) = 128
  Gradient Accumulation steps = 4
  Total optimization steps = 312
  Number of trainable parameters = 7,615,616
  0%|          | 0/312 [00:00<?, ?it/s]
  0%|          | 1/312 [00:12<1:02:12, 12.00s/it]
  1%|          | 2/312 [00:19<45:00,  8.10s/it]
  1%|          | 3/312 [00:26<40:00,  7.04s/it]
  1%|1         | 4/312 [00:33<39:00,  7.02s/it]
{'loss': 1.7312, 'grad_norm': 0.8431, 'learning_rate': 1.9e-05, 'epoch': 0.03}
  2%|1         | 5/312 [00:40<38:00,  7.01s/it]
  2%|1         | 6/312 [00:47<38:00,  7.02s/it]
 50%|#####     | 20/40 [00:02<00:02,  9.90it/s]
  2%|2         | 7/312 [00:54<38:00,  7.03s/it]
  3%|2         | 8/312 [01:01<38:00,  7.02s/it]
{'train_runtime': 2201.4, 'train_samples_per_second': 18.1, 'train_steps_per_second': 0.142, 'train_loss': 1.42, 'epoch': 1.0}
)";

inline constexpr std::string_view trainer_state = R"({
  "best_metric": null,
  "epoch": 1.0,
  "global_step": 200,
  "log_history": [
    {
      "epoch": 0.5,
      "learning_rate": 1e-05,
      "loss": 2.31,
      "step": 100
    },
    {
      "epoch": 1.0,
      "step": 200,
      "train_loss": 2.2,
      "train_runtime": 101.9,
      "train_samples_per_second": 1.963
    }
  ],
  "train_batch_size": 4
}
)";

inline constexpr std::string_view llama_factory =
    "{\"current_steps\": 10, \"total_steps\": 312, \"loss\": 1.73, \"lr\": 1.9e-05, \"elapsed_time\": \"0:01:10\", "
    "\"remaining_time\": \"0:35:20\", \"throughput\": 1234.5}\n"
    "{\"current_steps\": 20, \"total_steps\": 312, \"loss\": 1.70, \"lr\": 1.9e-05, \"elapsed_time\": \"0:02:10\", "
    "\"remaining_time\": \"0:34:20\", \"throughput\": 1234.5}\n";

inline constexpr std::string_view lightning =
    "Sanity Checking DataLoader 0: 100%|##########| 2/2 [00:00<00:00,  3.10it/s]\n"
    "Epoch 0:   0%|          | 1/392 [00:09<58:39,  9.00s/it, v_num=3, train_loss=2.9]\r"
    "Epoch 0:  12%|#2        | 46/392 [02:21<17:15,  3.00s/it, v_num=3, train_loss=0.512]\r"
    "Epoch 0:  12%|#2        | 47/392 [02:24<17:12,  3.01s/it, v_num=3, train_loss=0.412]\r"
    "Validation DataLoader 0:  50%|#####     | 25/50 [00:05<00:05,  5.00it/s]\r"
    "Epoch 0:  12%|#2        | 48/392 [02:27<17:09,  3.00s/it, v_num=3, train_loss=0.402]\n";

inline constexpr std::string_view lightning_profile = R"(
Action                                  |  Mean duration (s)    |Num calls              |  Total time (s)       |  Percentage %         |
-----------------------------------------------------------------------------------------------------
Total                                   |  -                    |_                      |  3041.1               |  100 %                |
run_training_batch                      |  0.22559              |12752                  |  2876.7               |  94.573               |
[_TrainingEpochLoop].train_dataloader_next |  0.00112              |12752                  |  14.3                 |  0.47                 |
)";

inline constexpr std::string_view megatron = R"(------------------------ arguments ------------------------
  global_batch_size ............................... 128
  micro_batch_size ................................ 2
  tensor_model_parallel_size ...................... 2
  pipeline_model_parallel_size .................... 1
  seq_length ...................................... 4096
  world_size ...................................... 16
-------------------- end of arguments ---------------------
 [2026-03-01 03:02:12.123456] iteration        1/     100 | consumed samples:          128 | elapsed time per iteration (ms): 25361.6 | learning rate: 1.420000E-05 | global batch size:   128 | lm loss: 1.018812E+01 | loss scale: 1.0 |
 [2026-03-01 03:02:17.123456] iteration        2/     100 | consumed samples:          256 | elapsed time per iteration (ms): 5361.6 | throughput per GPU (TFLOP/s/GPU): 243.6 | learning rate: 1.420000E-05 | global batch size:   128 | lm loss: 1.818812E+00 | loss scale: 1.0 |
 [2026-03-01 03:02:22.523456] iteration        3/     100 | consumed samples:          384 | elapsed time per iteration (ms): 5370.0 | throughput per GPU (TFLOP/s/GPU): 243.2 | learning rate: 1.420000E-05 | global batch size:   128 | lm loss: 1.718812E+00 | loss scale: 1.0 |
(min, max) time across ranks (ms):
    forward-backward ...............................: (5012.33, 5020.10)
    all-grads-sync .................................: (3.01, 41.87)
    optimizer ......................................: (18.80, 19.02)
 [2026-03-01 03:02:27.523456] iteration        4/     100 | consumed samples:          512 | elapsed time per iteration (ms): 5352.0 | throughput per GPU (TFLOP/s/GPU): 244.2 | learning rate: 1.420000E-05 | global batch size:   128 | lm loss: 1.718812E+00 | loss scale: 1.0 |
)";

inline constexpr std::string_view megatron_deepspeed =
    "[default7]: iteration    12695/  115311 | consumed samples: 9841584 | consumed tokens: 20155564032 | elapsed "
    "time per iteration (s): 105.22 | learning rate: 5.9e-05 | global batch size:  2048 | lm loss: 2.4E+00 | "
    "samples per second: 19.474 | TFLOPs: 149.10 |\n"
    "[default7]: iteration    12696/  115311 | consumed samples: 9843632 | consumed tokens: 20159758336 | elapsed "
    "time per iteration (s): 105.18 | learning rate: 5.9e-05 | global batch size:  2048 | lm loss: 2.4E+00 | "
    "samples per second: 19.471 | TFLOPs: 149.10 |\n";

inline constexpr std::string_view nemo =
    "Training epoch 0, iteration 9/99 | lr: 1.5e-06 | global_batch_size: 512 | global_step: 9 | "
    "reduced_train_loss: 10.4 | train_step_timing in s: 7.20 | consumed_samples: 5120\n"
    "Training epoch 0, iteration 10/99 | lr: 1.5e-06 | global_batch_size: 512 | global_step: 10 | "
    "reduced_train_loss: 10.3 | train_step_timing in s: 7.14 | consumed_samples: 5632\n";

inline constexpr std::string_view nanotron =
    "iteration: 20 / 100 | consumed_tokens: 84M | time_per_iteration_ms: 1.21K | tokens_per_sec: 3.5M | "
    "tokens_per_sec_per_gpu: 54.6K | global_batch_size: 4.19M | lm_loss: 9.2 | lr: 3e-05\n"
    "iteration: 21 / 100 | consumed_tokens: 88M | time_per_iteration_ms: 1.2K | tokens_per_sec: 3.5M | "
    "tokens_per_sec_per_gpu: 54.6K | global_batch_size: 4.19M | lm_loss: 9.1 | lr: 3e-05\n";

inline constexpr std::string_view nanogpt = R"(tokens per iteration will be: 491,520
step 0: train loss 10.9, val loss 10.9
iter 0: loss 10.9863, time 25561.94ms, mfu -100.00%
iter 10: loss 9.0863, time 561.94ms, mfu 30.12%
iter 20: loss 8.0863, time 562.10ms, mfu 30.11%
iter 30: loss 7.0863, time 560.94ms, mfu 30.14%
step 2000: train loss 3.3021, val loss 3.3110
saving checkpoint to out
iter 40: loss 6.0863, time 561.00ms, mfu 30.15%
)";

inline constexpr std::string_view llm_c =
    "step   20/19560 | loss 9.576700 (+0.12z)| norm 2.1100 (-0.40z)| lr 1.90e-05 | 174.42 ms | 44.7% bf16 MFU | "
    "3001874 tok/s\n"
    "step   21/19560 | loss 9.476700 (+0.12z)| norm 2.1100 (-0.40z)| lr 1.90e-05 | 173.42 ms | 44.9% bf16 MFU | "
    "3021874 tok/s\n";

inline constexpr std::string_view modded =
    "step:0/3375 val_loss:10.8258 train_time:0.021s step_avg:nanms\n"
    "step:125/3375 val_loss:4.85424 train_time:56.129s step_avg:449.03ms\n"
    "step:250/3375 val_loss:4.35424 train_time:112.254s step_avg:449.01ms\n";

inline constexpr std::string_view nanochat =
    "step 00010/21400 (0.05%) | loss: 7.100000 | lrm: 1.00 | dt: 702.31ms | tok/sec: 746,512 | bf16_mfu: 47.10 | "
    "epoch: 1 | total time: 0.08m\n"
    "step 00011/21400 (0.05%) | loss: 7.000000 | lrm: 1.00 | dt: 701.31ms | tok/sec: 747,512 | bf16_mfu: 47.12 | "
    "epoch: 1 | total time: 0.09m\n";

inline constexpr std::string_view litgpt =
    "Epoch 1 | iter 2 step 1 | loss train: 1.660, val: n/a | iter time: 548.72 ms (step) remaining time: 0:12:03\n"
    "Epoch 1 | iter 3 step 1 | loss train: 1.650, val: n/a | iter time: 546.72 ms remaining time: 0:12:02\n";

inline constexpr std::string_view torchtitan =
    "[rank0]:[titan] 2026-01-05 10:11:12,345 - root - INFO - \x1b[31mstep: 10  \x1b[32mloss:  7.41022  "
    "\x1b[38;2;180;60;0mgrad_norm:  2.3100  \x1b[38;2;54;234;195mmemory: 47.96GiB(60.52%)  \x1b[34mtps: 5,762  "
    "\x1b[36mtflops: 333.71  \x1b[35mmfu: 33.74%\x1b[39m\n"
    "[rank0]:[titan] 2026-01-05 10:11:26,565 - root - INFO - \x1b[31mstep: 20  \x1b[32mloss:  7.01022  "
    "\x1b[34mtps: 5,760  \x1b[36mtflops: 333.71  \x1b[35mmfu: 33.73%\x1b[39m\n"
    "[rank1]:[titan] 2026-01-05 10:11:26,566 - root - INFO - \x1b[31mstep: 20  \x1b[32mloss:  7.01022  "
    "\x1b[34mtps: 5,760  \x1b[36mtflops: 333.71  \x1b[35mmfu: 33.73%\x1b[39m\n"
    "[rank0]:[titan] 2026-01-05 10:11:40,785 - root - INFO - \x1b[31mstep: 30  \x1b[32mloss:  6.81022  "
    "\x1b[34mtps: 5,760  \x1b[36mtflops: 333.71  \x1b[35mmfu: 33.73%\x1b[39m\n";

inline constexpr std::string_view fairseq =
    "2026-01-05 10:00:00 | INFO | train_inner | epoch 001:    100 / 5000 loss=8.1, ppl=274, wps=51234, ups=0.39, "
    "wpb=131072, bsz=256, num_updates=100, lr=1e-05, gnorm=1.1, train_wall=251, gb_free=3.1, wall=260\n"
    "2026-01-05 10:04:16 | INFO | train_inner | epoch 001:    200 / 5000 loss=7.1, ppl=174, wps=51234, ups=0.4, "
    "wpb=131072, bsz=256, num_updates=200, lr=1e-05, gnorm=1.1, train_wall=501, gb_free=3.1, wall=516\n";

inline constexpr std::string_view composer =
    "[batch=24/4800]:\n\t Train throughput/batches_per_sec: 0.2000\n\t Train throughput/device/tokens_per_sec: "
    "10375.2\n[batch=25/4800]:\n\t Train throughput/batches_per_sec: 0.2100\n\t Train "
    "throughput/device/tokens_per_sec: 10475.2\n\t Train throughput/device/mfu: 0.4571\n";

inline constexpr std::string_view deepspeed = R"([2026-01-05 10:00:00,000] [INFO] [config.py:1001:print]   train_batch_size ............. 32
[2026-01-05 10:00:00,000] [INFO] [config.py:1001:print]   train_micro_batch_size_per_gpu  4
[2026-01-05 10:00:01,123] [INFO] [timer.py:264:stop] epoch=0/micro_step=40/global_step=10, RunningAvgSamplesPerSec=12.31, CurrSamplesPerSec=12.40, MemAllocated=15.2GB, MaxMemAllocated=31.9GB
[2026-01-05 10:00:01,124] [INFO] [logging.py:96:log_dist] [Rank 0] time (ms) | fwd_microstep: 357.11 | bwd_microstep: 673.90 | bwd_inner_microstep: 512.01 | bwd_allreduce_microstep: 161.70 | step_microstep: 88.12
[2026-01-05 10:00:01,125] [INFO] [logging.py:96:log_dist] [Rank 0] time (ms) | fwd: 1428.3 | bwd: 2695.1 | bwd_inner: 2048.2 | bwd_allreduce: 646.5 | step: 88.1
[2026-01-05 10:00:26,923] [INFO] [timer.py:264:stop] epoch=0/micro_step=80/global_step=20, RunningAvgSamplesPerSec=12.31, CurrSamplesPerSec=12.40, MemAllocated=15.2GB, MaxMemAllocated=31.9GB
)";

inline constexpr std::string_view mmengine =
    "2026/01/23 10:05:04 - mmengine - INFO - Epoch(train)  [62][1700/2693]  base_lr: 2.0000e-03 lr: 8.1200e-04  "
    "eta: 1 day, 2:09:41  time: 1.2069  data_time: 0.0319  memory: 14225  loss: 2036.3389\n"
    "2026/01/23 10:06:04 - mmengine - INFO - Epoch(train)  [62][1750/2693]  base_lr: 2.0000e-03 lr: 8.1200e-04  "
    "eta: 1 day, 2:08:41  time: 1.1931  data_time: 0.0281  memory: 14225  loss: 2030.3389\n"
    "2026/01/23 10:06:44 - mmengine - INFO - Epoch(val) [62][50/500]  eta: 0:01:00  time: 0.1  data_time: 0.01\n";

inline constexpr std::string_view mmcv =
    "2026-01-05 10:00:00,000 - mmdet - INFO - Epoch [1][50/7330]\tlr: 1.978e-03, eta: 1 day, 7:11:32, time: 0.379, "
    "data_time: 0.052, memory: 3793, loss: 1.2\n"
    "2026-01-05 10:00:19,000 - mmdet - INFO - Epoch [1][100/7330]\tlr: 3.978e-03, eta: 1 day, 7:01:32, time: 0.373, "
    "data_time: 0.012, memory: 3793, loss: 1.1\n";

inline constexpr std::string_view detectron2 =
    "[01/05 10:00:00 d2.utils.events]:  eta: 9:12:44  iter: 19  total_loss: 4.8  time: 0.3651  last_time: 0.3612  "
    "data_time: 0.0123  last_data_time: 0.0040   lr: 4.9e-05  max_mem: 4321M\n"
    "[01/05 10:00:07 d2.utils.events]:  eta: 9:12:34  iter: 39  total_loss: 4.1  time: 0.3641  last_time: 0.3612  "
    "data_time: 0.0083  last_data_time: 0.0040   lr: 4.9e-05  max_mem: 4321M\n";

inline constexpr std::string_view ultralytics =
    "      1/300      4.61G      1.321      1.872      1.244         23        640: 100%|##########| 925/925 "
    "[04:23<00:00,  3.52it/s]\n"
    "                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95): 100%|##########| 40/40 "
    "[00:10<00:00,  4.00it/s]\n"
    "      2/300      4.61G      1.221      1.772      1.144         23        640: 100%|##########| 925/925 "
    "[04:20<00:00,  3.56it/s]\n";

inline constexpr std::string_view imagenet =
    "Epoch: [0][   0/5005]\tTime 12.251 ( 12.251)\tData 11.901 ( 11.901)\tLoss 7.0e+00 (7.1e+00)\tAcc@1   0.00 ( 0.20)\n"
    "Epoch: [0][  10/5005]\tTime  0.251 (  1.202)\tData  0.001 (  0.801)\tLoss 7.0e+00 (7.1e+00)\tAcc@1   0.00 ( 0.20)\n"
    "Epoch: [0][  20/5005]\tTime  0.253 (  0.702)\tData  0.001 (  0.401)\tLoss 7.0e+00 (7.1e+00)\tAcc@1   0.00 ( 0.20)\n";

inline constexpr std::string_view timm =
    "Train: 0 [   0/1251 (  0%)]  Loss: 6.95 (6.96)  Time: 4.402s,  181.73/s  (4.402s,  181.73/s)  LR: 1.0e-05  "
    "Data: 3.011 (3.011)\n"
    "Train: 0 [  50/1251 (  4%)]  Loss: 6.95 (6.96)  Time: 0.402s, 1990.05/s  (0.431s, 1856.15/s)  LR: 1.0e-05  "
    "Data: 0.011 (0.031)\n"
    "Train: 0 [ 100/1251 (  8%)]  Loss: 6.95 (6.96)  Time: 0.404s, 1980.20/s  (0.421s, 1900.23/s)  LR: 1.0e-05  "
    "Data: 0.011 (0.021)\n";

inline constexpr std::string_view torchvision =
    "Epoch: [0]  [  10/1251]  eta: 0:12:34  lr: 0.1  img/s: 1021.3  loss: 6.9  time: 0.2507  data: 0.0012  max mem: "
    "7012\n"
    "Epoch: [0]  [  20/1251]  eta: 0:12:24  lr: 0.1  img/s: 1021.3  loss: 6.9  time: 0.2509  data: 0.0012  max mem: "
    "7012\n";

inline constexpr std::string_view dllogger =
    "DLL 2026-01-05 10:00:00.123 - Epoch: 0 Iteration: 10  train.loss : 6.9  train.compute_ips : 973.56 img/s  "
    "train.total_ips : 970.41 img/s  train.data_time : 0.00110 s  train.compute_time : 0.35875 s\n"
    "DLL 2026-01-05 10:00:04.123 - Epoch: 0 Iteration: 20  train.loss : 6.9  train.compute_ips : 973.56 img/s  "
    "train.total_ips : 970.41 img/s  train.data_time : 0.00120 s  train.compute_time : 0.35975 s\n";

inline constexpr std::string_view csv_steps =
    "step,loss,step_time_ms,data_time\n0,10.1,2000.5,1.1\n1,9.1,250.5,0.01\n2,8.1,251.5,0.01\n3,7.1,250.0,0.01\n";

inline constexpr std::string_view markdown_scaling = R"(| GPUs | Batch size / GPU | Throughput (img/s) |
| ---: | ---: | ---: |
| 1 | 256 | 1,021 |
| 8 | 256 | 7,890.5 |
)";

inline constexpr std::string_view nsys =
    "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n"
    "75.0,3000000,10,300000.0,299000.0,290000,310000,5000.0,\"void gemm<float, 4>(int, int)\"\n"
    "25.0,1000000,5,200000.0,199000.0,190000,210000,5000.0,\"ncclDevKernel_AllReduce_Sum_f32_RING_LL(x, y)\"\n";

struct Sample {
  std::string_view name;  // of the format
  std::string_view text;
};
inline constexpr std::array<Sample, 27> all{{{"progress bar (tqdm) with Hugging Face Trainer", hf_trainer},
                                             {"Hugging Face Trainer", trainer_state},
                                             {"Hugging Face Trainer", llama_factory},
                                             {"Lightning's bar", lightning},
                                             {"Lightning's profiler", lightning_profile},
                                             {"Megatron-LM", megatron},
                                             {"Megatron-DeepSpeed", megatron_deepspeed},
                                             {"NeMo", nemo},
                                             {"nanotron", nanotron},
                                             {"nanoGPT", nanogpt},
                                             {"llm.c", llm_c},
                                             {"modded-nanogpt", modded},
                                             {"nanochat", nanochat},
                                             {"litgpt", litgpt},
                                             {"torchtitan", torchtitan},
                                             {"fairseq", fairseq},
                                             {"composer", composer},
                                             {"DeepSpeed", deepspeed},
                                             {"mmengine", mmengine},
                                             {"mmengine", mmcv},
                                             {"detectron2", detectron2},
                                             {"Ultralytics' bar", ultralytics},
                                             {"PyTorch's ImageNet example", imagenet},
                                             {"timm", timm},
                                             {"torchvision", torchvision},
                                             {"DLLogger", dllogger},
                                             {"CSV table", csv_steps}}};

}  // namespace stepsight::samples
