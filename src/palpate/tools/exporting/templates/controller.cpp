// @NAME@ as a chainable controller of ros2_control, over the exported C library: no allocation and no lock in update.
//
// Activated, it holds where the arm is. References (another controller's, or the parameters `target.*` once `follow` is
// set) are the numbers of the target, in world axes: the law goes over to them within `follow_time`. After a code of the
// library the efforts go to damping with gravity; update returns ERROR only after that, and only where the hardware holds
// gravity by itself. The wrench is read as the sensor gives it: it must be what the environment does to the robot, at the
// tool's origin, world axes.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "@NAME@.h"
#include "@NAME@_parameters.hpp" // made of @NAME@_parameters.yaml by generate_parameter_library
#include "controller_interface/chainable_controller_interface.hpp"
#include "pluginlib/class_list_macros.hpp"
#include "rclcpp/logging.hpp"

namespace @NAME@_control {
using controller_interface::CallbackReturn;
using controller_interface::interface_configuration_type;
using controller_interface::return_type;
constexpr size_t JOINTS = @NAME_UPPER@_JOINTS, REFERENCES = @REFERENCES@;
constexpr bool FEELS = @FEELS@; // whether law or guards read the wrench

class Controller : public controller_interface::ChainableControllerInterface {
  public:
    CallbackReturn on_init() override {
        listener_ = std::make_shared<@NAME@::ParamListener>(get_node());
        params_ = listener_->get_params();
        return @NAME@_init(&law_, sizeof law_, @NAME_UPPER@_VERSION) ? CallbackReturn::ERROR : CallbackReturn::SUCCESS;
    }

    controller_interface::InterfaceConfiguration command_interface_configuration() const override {
        std::vector<std::string> names;
        for (const auto &joint : params_.joints) names.push_back(joint + "/@COMMAND@");
        return {interface_configuration_type::INDIVIDUAL, names};
    }

    controller_interface::InterfaceConfiguration state_interface_configuration() const override {
        std::vector<std::string> names;
        for (const char *kind : {"/position", "/velocity", "/effort"})
            for (const auto &joint : params_.joints) names.push_back(joint + kind);
        if (FEELS)
            for (const char *axis : {"force.x", "force.y", "force.z", "torque.x", "torque.y", "torque.z"})
                names.push_back(params_.wrench_sensor + "/" + axis);
        return {interface_configuration_type::INDIVIDUAL, names};
    }

    CallbackReturn on_configure(const rclcpp_lifecycle::State &) override {
        params_ = listener_->get_params();
        const bool sensed = !FEELS || !params_.wrench_sensor.empty();
        if (params_.joints.size() != JOINTS || !sensed) return CallbackReturn::ERROR;
        return tuned() ? CallbackReturn::SUCCESS : CallbackReturn::ERROR;
    }

    CallbackReturn on_activate(const rclcpp_lifecycle::State &) override {
        in_ = {};
        in_.bytes = sizeof in_;
        in_.version = @NAME_UPPER@_VERSION;
        std::fill(std::begin(in_.q), std::end(in_.q), std::nan("")); // until it is read, no posture is known
        missing_ = 0, code_ = 0, left_ = @NAME_UPPER@_RAMP, following_ = false;
        for (auto &reference : ordered_exported_reference_interfaces_)
            if (!reference->set_value(std::nan(""))) return CallbackReturn::ERROR;
        const bool ready = !@NAME@_reset(&law_) && !@NAME@_blend(&law_, params_.blend) && !@NAME@_hold(&law_);
        return ready ? CallbackReturn::SUCCESS : CallbackReturn::ERROR;
    }

    return_type update_reference_from_subscribers(const rclcpp::Time &, const rclcpp::Duration &) override {
        size_t at = 0;
        bool set = ordered_exported_reference_interfaces_.size() == REFERENCES;
        const auto put = [&](const std::vector<double> &numbers) {
            for (double number : numbers)
                set = set && ordered_exported_reference_interfaces_[at++]->set_value(params_.follow ? number : std::nan(""));
        };
@TARGETS_FROM_PARAMETERS@
        return set ? return_type::OK : return_type::ERROR;
    }

    return_type update_and_write_commands(const rclcpp::Time &, const rclcpp::Duration &period) override {
        const auto stamp = params_.__stamp; // a changed parameter is copied at the tick that sees it
        if (listener_->try_get_params(params_) && params_.__stamp != stamp) tuned(); // refused: the last ones stay
        in_.t += period.seconds();
        if (read()) {
            missing_ = 0;
        } else { // a value that is not there: the last command stands, for a while
            if (++missing_ <= params_.missing_limit) return return_type::OK;
            std::fill(std::begin(in_.v), std::end(in_.v), 0.0);
            @NAME@_stop(&law_);
        }
        @NAME@_output out;
        const int32_t code = @NAME@_step(&law_, &in_, &out); // with a code the answer is the ramp's
        bool written = code != @NAME_UPPER@_CODE_NO_POSTURE; // there is none then: nothing measured, nothing commanded
        for (size_t j = 0; written && j < JOINTS; j++) written &= command_interfaces_[j].set_value(@COMMANDED@);
        return !ended(code) && written ? return_type::OK : return_type::ERROR;
    }

  protected:
    std::vector<hardware_interface::CommandInterface::SharedPtr> on_export_reference_interfaces_list() override {
        static const std::array<const char *, REFERENCES> names = {@REFERENCE_NAMES@};
        std::vector<hardware_interface::CommandInterface::SharedPtr> list;
        for (size_t k = 0; k < REFERENCES; k++)
            list.push_back(std::make_shared<hardware_interface::CommandInterface>(get_node()->get_name(), names[k]));
        return list;
    }

  private:
    // Measurement and target into the tick; false where a value is missing or no reference was ever given.
    bool read() {
        @NAME@_input next = in_;
        double *const fields[] = {next.q, next.v, next.tau};
        const size_t measured = 3 * JOINTS + (FEELS ? 6 : 0);
        if (state_interfaces_.size() != measured) return false;
        for (size_t k = 0; k < measured; k++) {
            const auto value = state_interfaces_[k].get_optional();
            if (!value || !std::isfinite(*value)) return false;
            (k < 3 * JOINTS ? fields[k / JOINTS][k % JOINTS] : next.wrench[k - 3 * JOINTS]) = *value;
        }
        double *const targets[] = {@TARGET_FIELDS@};
        const size_t sizes[] = {@TARGET_SIZES@};
        size_t field = 0, at = 0;
        bool given = true;
        for (const auto &reference : ordered_exported_reference_interfaces_) {
            const auto value = reference->get_optional();
            given = given && value && std::isfinite(*value);
            if (given) targets[field][at++] = *value;
            if (at == sizes[field]) at = 0, field++;
        }
        if (!given && following_) return false;
        if (given && !following_) following_ = !@NAME@_follow(&law_, params_.follow_time);
        in_ = next;
        return true;
    }

    // Whether the controller is to be ended: the ramp is over, and somebody else holds gravity.
    bool ended(int32_t code) {
        if (code && !code_) RCLCPP_ERROR(get_node()->get_logger(), "@NAME@ ended: %s", @NAME@_code_name(code));
        code_ = code;
        if (code) left_ -= @NAME_UPPER@_PERIOD;
        return left_ <= 0.0 && @GRAVITY_HELD@;
    }

    // Gains and setup out of the parameters; refused as a whole.
    bool tuned() {
        const bool done = set_gains() && set_setup();
        if (!done) RCLCPP_ERROR(get_node()->get_logger(), "@NAME@ refused gains or setup: see the header for bounds");
        return done;
    }

    bool set_gains() {
        @NAME@_gains gains;
        if (@NAME@_get_gains(&law_, &gains, sizeof gains)) return false;
@GAINS_FROM_PARAMETERS@
        return !@NAME@_set_gains(&law_, &gains, sizeof gains);
    }

    bool set_setup() {
        @NAME@_setup setup;
        if (@NAME@_get_setup(&law_, &setup, sizeof setup)) return false;
@SETUP_FROM_PARAMETERS@
        return !@NAME@_set_setup(&law_, &setup, sizeof setup);
    }

    std::shared_ptr<@NAME@::ParamListener> listener_;
    @NAME@::Params params_;
    @NAME@_state law_;
    @NAME@_input in_{};
    int64_t missing_ = 0;
    int32_t code_ = 0;
    double left_ = @NAME_UPPER@_RAMP; // s of the ramp
    bool following_ = false;
};
} // namespace @NAME@_control

PLUGINLIB_EXPORT_CLASS(@NAME@_control::Controller, controller_interface::ChainableControllerInterface)
